/** An ELF file to be linked (REL, x86-64) with a .modinfo, as depmod and modinfo read it. */
export function standInModule(version: string): Buffer {
  const info = Buffer.from(`version=${version}\0`);
  const names = Buffer.from('\0.modinfo\0.shstrtab\0');
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  [1, 62].forEach((value, index) => header.writeUInt16LE(value, 16 + 2 * index));
  header.writeUInt32LE(1, 20);
  const at = 64 + info.length;
  // The sections' headers, at a multiple of eight.
  const table = Math.ceil((at + names.length) / 8) * 8;
  header.writeUInt32LE(table, 40);
  [64, 0, 0, 64, 3, 2].forEach((value, index) => header.writeUInt16LE(value, 52 + 2 * index));
  const section = (name: number, type: number, offset: number, size: number): Buffer => {
    const all = Buffer.alloc(64);
    all.writeUInt32LE(name, 0);
    all.writeUInt32LE(type, 4);
    all.writeUInt32LE(offset, 24);
    all.writeUInt32LE(size, 32);
    return all;
  };
  return Buffer.concat([
    header,
    info,
    names,
    Buffer.alloc(table - at - names.length),
    Buffer.alloc(64),
    section(1, 1, 64, info.length),
    section(10, 3, at, names.length),
  ]);
}
