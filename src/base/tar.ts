const block = 512;

export interface TarEntry {
  /** Relative path, at most 100 bytes. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Seconds since the epoch; 0 keeps the archive reproducible. */
  readonly mtime?: number;
}

/** A POSIX ustar archive of regular files. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => [
    header(entry),
    entry.content,
    Buffer.alloc((block - (entry.content.length % block)) % block),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

/** The regular files of an archive: path → content. Links, folders and extended headers are passed over. */
export function untar(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; at + block <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(archive, at + 124, 12), 8);
    const type = text(archive, at + 156, 1);
    const start = at + block;
    if (type === '0' || type === '') {
      files.set(text(archive, at, 100), archive.subarray(start, start + size));
    }
    at = start + Math.ceil(size / block) * block;
  }
  return files;
}

function header(entry: TarEntry): Buffer {
  if (Buffer.byteLength(entry.path) > 100) throw new RangeError(`path too long for tar: ${entry.path}`);
  const head = Buffer.alloc(block);
  head.write(entry.path, 0);
  head.write(octal(entry.mode, 7), 100);
  head.write(octal(entry.uid ?? 0, 7), 108);
  head.write(octal(entry.gid ?? 0, 7), 116);
  head.write(octal(entry.content.length, 11), 124);
  head.write(octal(entry.mtime ?? 0, 11), 136);
  head.write(' '.repeat(8), 148);
  head.write('0', 156);
  head.write('ustar\x0000', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${octal(sum, 6)}\0 `, 148);
  return head;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function text(archive: Buffer, at: number, length: number): string {
  return archive.toString('utf8', at, at + length).replace(/[\0 ].*$/s, '');
}
