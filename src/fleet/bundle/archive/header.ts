/** Bytes of a block of a tar archive; contents are filled up to whole ones. */
export const block = 512;

/**
 * The header (ustar) of a regular file of root's, dated 1970: for one name and size there is exactly one. Sizes of 8 GiB and
 * more are in base 256, as GNU tar has them.
 */
export function headerOf(name: string, size: number): Buffer {
  const header = Buffer.alloc(block);
  header.write(name, 0, 100, 'ascii');
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  writeSize(header, size);
  header.write('00000000000\0', 136);
  header.fill(' ', 148, 156);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function writeSize(header: Buffer, size: number): void {
  if (size < 8 ** 11) {
    header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
    return;
  }
  header.writeBigUInt64BE(BigInt(size), 128);
  header[124] = 0x80;
}

/** Content and filling. */
export function padded(size: number): number {
  return Math.ceil(size / block) * block;
}

/** What an archive ends with. */
export const ending = Buffer.alloc(2 * block);
