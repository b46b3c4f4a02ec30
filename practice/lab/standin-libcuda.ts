/** Code of `cuInit`: returns a number, whatever it is called with. */
const returning = {
  // mov eax, NUMBER; ret
  x64: { machine: 62, code: (answer: number) => Buffer.concat([hex('b8'), word(answer), hex('c3')]) },
  // movz w0, NUMBER; ret
  arm64: {
    machine: 183,
    code: (answer: number) => Buffer.concat([word(0x5280_0000 + answer * 32), hex('c0035fd6')]),
  },
};

export type StandInMachine = keyof typeof returning;

/**
 * A library that has cuInit and nothing else: libcuda.so.1 where there is no GPU. `answer`: what it returns, below 65,536. One
 * segment to read, write and execute, and the table of names in the order that System V's linkers ask for.
 */
export function standInLibcuda(answer: number, architecture: StandInMachine = 'x64'): Buffer {
  const { machine, code } = returning[architecture];
  const names = Buffer.from('\0libcuda.so.1\0cuInit\0');
  const at = { dynamic: 64 + 2 * 56, hash: 0, symbols: 0, code: 0, names: 0 };
  at.hash = at.dynamic + 7 * 16;
  // One bucket with one symbol in it; five words, and one to fill up.
  at.symbols = at.hash + 24;
  at.code = at.symbols + 48;
  at.names = at.code + 8;
  const size = at.names + names.length;
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  [3, machine].forEach((value, index) => header.writeUInt16LE(value, 16 + 2 * index));
  header.writeUInt32LE(1, 20);
  header.writeUInt32LE(64, 32);
  [64, 56, 2].forEach((value, index) => header.writeUInt16LE(value, 52 + 2 * index));
  const text = Buffer.alloc(8);
  code(answer).copy(text);
  return Buffer.concat([
    header,
    longs(1 + 7 * 2 ** 32, 0, 0, 0, size, size, 0x1_0000),
    longs(2 + 6 * 2 ** 32, at.dynamic, at.dynamic, at.dynamic, 7 * 16, 7 * 16, 8),
    // SONAME, HASH, STRTAB, SYMTAB, STRSZ, SYMENT
    longs(14, 1, 4, at.hash, 5, at.names, 6, at.symbols, 10, names.length, 11, 24, 0, 0),
    ...[1, 2, 1, 0, 0, 0].map(word),
    longs(0, 0, 0),
    // A function for all, in some section, and where it is.
    longs(14 + 0x12 * 2 ** 32 + 2 ** 48, at.code, 8),
    text,
    names,
  ]);
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

function word(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

function longs(...values: readonly number[]): Buffer {
  const all = Buffer.alloc(8 * values.length);
  values.forEach((value, index) => all.writeBigUInt64LE(BigInt(value), 8 * index));
  return all;
}
