import { crc32 } from 'node:zlib';

/** Times in archives are of no use here: 1 January 2026, in MS-DOS's bits. */
const dosTime = 0;
const dosDate = ((2026 - 1980) << 9) | (1 << 5) | 1;

/** A zip archive of small files, stored as they are (PKWARE's APPNOTE, 4.3). */
export function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  const index: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const path = Buffer.from(name);
    const content = Buffer.from(text);
    const shared = entry(path, content);
    const local = Buffer.concat([number(4, 0x04034b50), shared, path, content]);
    parts.push(local);
    // Made by version, then what the local header says, comment, disk and attributes, where the local header is.
    index.push(number(4, 0x02014b50), number(2, 20), shared, Buffer.alloc(10), number(4, offset), path);
    offset += local.length;
  }
  const directory = Buffer.concat(index);
  const count = number(2, parts.length);
  const end = [number(4, 0x06054b50), Buffer.alloc(4), count, count, number(4, directory.length)];
  return Buffer.concat([...parts, directory, ...end, number(4, offset), Buffer.alloc(2)]);
}

/** From the version that is needed to the lengths of name and extra field: the same in both headers. */
function entry(path: Buffer, content: Buffer): Buffer {
  const utf8Names = 0x0800;
  return Buffer.concat([
    number(2, 20),
    number(2, utf8Names),
    number(2, 0),
    number(2, dosTime),
    number(2, dosDate),
    number(4, crc32(content)),
    number(4, content.length),
    number(4, content.length),
    number(2, path.length),
    number(2, 0),
  ]);
}

function number(bytes: 2 | 4, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
}
