import { sh } from '../base/shell.ts';
import { finding } from './findings.ts';
import type { Finding } from './verdict.ts';

/**
 * A program of less than a kilobyte that calls one function of one library with 0 and prints the returned number.
 * If the library or the function is missing, the dynamic linker reports it and the exit code is 127.
 *
 * The layout is that of the System V ABI (gABI, chapters 4 and 5; its supplements for AMD64 and for AArch64): headers, names and code
 * are mapped at `base`, readable and executable; the part from `dataAt`, which the linker writes, is mapped 64 KiB higher,
 * the largest page size.
 */
const base = 0x40_0000;
const data = 0x41_0000;
const dataAt = 0x280;

interface Machine {
  /** e_machine. */
  readonly id: number;
  readonly linker: string;
  /** The relocation that writes a function's address into a word (GLOB_DAT). */
  readonly relocation: number;
  /** Calls the function whose address is at `data + dataAt`, writes the decimal number and a newline, exits with 0. */
  readonly code: string;
}

export const machines = {
  x86_64: {
    id: 62,
    linker: '/lib64/ld-linux-x86-64.so.2',
    relocation: 6,
    code: `31ff             xor edi, edi
      ff142580024100     call [0x410280]
      4883ec20           sub rsp, 32
      488d74241f         lea rsi, [rsp+31]
      c6060a             mov byte [rsi], 10
      b90a000000         mov ecx, 10
      31d2               digit: xor edx, edx
      f7f1               div ecx
      80c230             add dl, '0'
      48ffce             dec rsi
      8816               mov [rsi], dl
      85c0               test eax, eax
      75f0               jnz digit
      488d542420         lea rdx, [rsp+32]
      4829f2             sub rdx, rsi
      bf01000000         mov edi, 1
      b801000000         mov eax, 1 (write)
      0f05               syscall
      31ff               xor edi, edi
      b8e7000000         mov eax, 231 (exit_group)
      0f05               syscall`,
  },
  aarch64: {
    id: 183,
    linker: '/lib/ld-linux-aarch64.so.1',
    relocation: 1025,
    code: `00008052         mov w0, 0
      3008a0d2           mov x16, 0x410000
      104241f9           ldr x16, [x16, 0x280]
      00023fd6           blr x16
      ff8300d1           sub sp, sp, 32
      e17f0091           add x1, sp, 31
      42018052           mov w2, 10
      22000039           strb w2, [x1]
      0308c21a           digit: udiv w3, w0, w2
      6480021b           msub w4, w3, w2, w0
      84c00011           add w4, w4, '0'
      24fc1f38           strb w4, [x1, -1]!
      e003032a           mov w0, w3
      60ffff35           cbnz w0, digit
      e2830091           add x2, sp, 32
      420001cb           sub x2, x2, x1
      200080d2           mov x0, 1
      080880d2           mov x8, 64 (write)
      010000d4           svc 0
      000080d2           mov x0, 0
      c80b80d2           mov x8, 94 (exit_group)
      010000d4           svc 0`,
  },
} as const satisfies Readonly<Record<string, Machine>>;

export function callProgram(machine: keyof typeof machines, library: string, name: string): Buffer {
  const { id, linker, relocation, code }: Machine = machines[machine];
  const headers = 64 + 5 * 56;
  const names = `\0${library}\0${name}\0`;
  const parts = {
    linker: Buffer.from(`${linker}\0`),
    // The null symbol, then the function, undefined here.
    symbols: Buffer.concat([words(0, 0, 0), words(symbolInfo(names.indexOf(name)), 0, 0)]),
    relocations: words(data + dataAt, 2 ** 32 + relocation, 0),
    names: Buffer.from(names),
    code: Buffer.from(code.replaceAll(/^ *([0-9a-f]+) .*\n?/gm, '$1'), 'hex'),
  };
  const at = { linker: 0, symbols: 0, relocations: 0, names: 0, code: 0 };
  let end = headers;
  for (const key of ['symbols', 'relocations', 'code', 'linker', 'names'] as const) {
    at[key] = end;
    end += parts[key].length;
  }
  // NEEDED, STRTAB, SYMTAB, RELA, RELASZ, RELAENT, STRSZ, SYMENT
  const dynamic = [
    [1, names.indexOf(library)],
    [5, base + at.names],
    [6, base + at.symbols],
    [7, base + at.relocations],
    [8, 24],
    [9, 24],
    [10, names.length],
    [11, 24],
    [0, 0],
  ].flat();
  const written = Buffer.concat([words(0), words(...dynamic)]);
  const program = Buffer.alloc(dataAt + written.length);
  elfHeader(id, base + at.code).copy(program);
  Buffer.concat([
    // INTERP, LOAD (read, execute), LOAD (read, write), DYNAMIC, GNU_STACK (read, write)
    segment(3, 4, [at.linker, base + at.linker, parts.linker.length], 1),
    segment(1, 5, [0, base, end], 0x1_0000),
    segment(1, 6, [dataAt, data + dataAt, written.length], 0x1_0000),
    segment(2, 6, [dataAt + 8, data + dataAt + 8, written.length - 8], 8),
    segment(0x6474_e551, 6, [0, 0, 0], 16),
  ]).copy(program, 64);
  for (const key of ['symbols', 'relocations', 'code', 'linker', 'names'] as const)
    parts[key].copy(program, at[key]);
  written.copy(program, dataAt);
  return program;
}

/** Returns the first word of a symbol: its name, GLOBAL, FUNC, undefined section. */
export const symbolInfo = (name: number): number => name + 0x12 * 2 ** 32;

export function elfHeader(machine: number, entry: number): Buffer {
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20);
  words(entry, 64).copy(header, 24);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(5, 56);
  return header;
}

export function segment(
  type: number,
  flags: number,
  [offset, address, size]: readonly [number, number, number],
  align: number,
): Buffer {
  return words(type + flags * 2 ** 32, offset, address, address, size, size, align);
}

export function words(...values: readonly number[]): Buffer {
  const all = Buffer.alloc(8 * values.length);
  values.forEach((value, index) => all.writeBigUInt64LE(BigInt(value), 8 * index));
  return all;
}

const cases = (Object.keys(machines) as (keyof typeof machines)[])
  .map(
    (name) => sh`    ${name}) program=${callProgram(name, 'libcuda.so.1', 'cuInit').toString('base64')} ;;`,
  )
  .join('\n');

/**
 * Returns a script that runs `check` and then calls cuInit. The image needs no CUDA files: the runtime mounts libcuda with
 * the GPUs (capability `compute`). It skips CUDA where nvidia-smi failed or the program cannot be written. The exit code
 * is that of `check`.
 */
export function withCuda(check: string): string {
  return `(
${check})
code=$?
case $code in
  0 | 14)
    case $(uname -m) in
${cases}
    *) program= ;;
    esac
    file=/tmp/azp-fleet-cuda
    if printf %s "$program" | base64 -d >"$file" && [ -s "$file" ] && chmod 700 "$file"; then
      said=$(timeout -k 5 20 "$file" 2>&1)
      echo "azp-fleet: cuInit exit $? $said"
    fi
    ;;
esac
exit "$code"
`;
}

/** Meaning of a number that cuInit returned: CUDA Driver API, `CUresult`. */
const meanings: ReadonlyMap<string, Finding> = new Map([
  ['802', finding('cuda.not-ready')],
  [
    '803',
    finding(
      'driver.mismatch',
      'the loaded kernel module and libcuda have different versions (CUDA error 803)',
    ),
  ],
  [
    '804',
    finding(
      'cuda.failed',
      'the image contains its own libcuda, which this driver or GPU does not support (CUDA error 804)',
      {
        next: 'use an image for the CUDA version of the driver (`nvidia-smi` shows it), or a newer driver branch',
      },
    ),
  ],
]);

/**
 * Returns the problem that CUDA reported in the output of `withCuda`. Undefined: CUDA works, or was not called. Pure.
 */
export function explainCuda(output: string): Finding | undefined {
  const [, code, said = ''] = /^azp-fleet: cuInit exit (\d{1,3}) ?(.*)$/m.exec(output) ?? [];
  if (code === undefined || (code === '0' && said === '0')) return undefined;
  if (code === '0' && /^\d{1,10}$/.test(said))
    return (
      meanings.get(said) ??
      finding('cuda.failed', `CUDA does not initialize in a container: cuInit returns error ${said}`)
    );
  // Cold GPUs take long; a GPU that hangs in the kernel is found by the deadline of the container.
  if (code === '124' || code === '137')
    return finding('cuda.failed', 'CUDA does not initialize in a container within 20 s', {
      severity: 'warn',
    });
  return finding('container.no-libcuda');
}
