import { elfHeader, machines, segment, symbolInfo, words } from './cuda.ts';
import { compute, computed, ptx, seeds } from './deep-kernels.ts';

/**
 * A program that runs kernels through libcuda: a list of calls in data, and code that makes them one after the other. The image needs no
 * CUDA files and no compiler. The layout is that of `callProgram`.
 */
const base = 0x40_0000;
const data = 0x41_0000;

export type DeepMachine = keyof typeof machines;

/** Arguments of a call that are read: those of cuLaunchKernel. */
const mostArguments = 11;
/** Bytes of a call: the function's entry, the name of the step (0: its result is no error), the place of the result, arguments. */
const callBytes = 128;

/**
 * Makes each call of the table at `table`: `result = function(arguments)`. After a call with a name whose 32-bit result is not 0, name and
 * result are written at `failure`, and the table at `failed` follows. A call without a function is the end: exit code 0.
 */
const code: Readonly<Record<DeepMachine, (at: CodeAddresses) => string>> = {
  x86_64: ({ table, failed, failure }) => `bb${le(table)}     mov ebx, table
      488b03           next: mov rax, [rbx]
      4885c0           test rax, rax
      0f8491000000     jz end
      4883ec08         sub rsp, 8
      488b5368         mov rdx, [rbx+0x68]
      ff32             push [rdx] (argument 11)
      488b5360         mov rdx, [rbx+0x60]
      ff32             push [rdx]
      488b5358         mov rdx, [rbx+0x58]
      ff32             push [rdx]
      488b5350         mov rdx, [rbx+0x50]
      ff32             push [rdx]
      488b5348         mov rdx, [rbx+0x48]
      ff32             push [rdx] (argument 7)
      488b7b18         mov rdi, [rbx+0x18]
      488b3f           mov rdi, [rdi] (argument 1)
      488b7320         mov rsi, [rbx+0x20]
      488b36           mov rsi, [rsi]
      488b5328         mov rdx, [rbx+0x28]
      488b12           mov rdx, [rdx]
      488b4b30         mov rcx, [rbx+0x30]
      488b09           mov rcx, [rcx]
      4c8b4338         mov r8, [rbx+0x38]
      4d8b00           mov r8, [r8]
      4c8b4b40         mov r9, [rbx+0x40]
      4d8b09           mov r9, [r9] (argument 6)
      4c8b13           mov r10, [rbx]
      31c0             xor eax, eax
      41ff12           call [r10]
      4883c430         add rsp, 48
      488b5310         mov rdx, [rbx+0x10]
      488902           mov [rdx], rax
      488b5308         mov rdx, [rbx+8]
      4885d2           test rdx, rdx
      7420             jz done
      89c0             mov eax, eax
      85c0             test eax, eax
      741a             jz done
      48891425${le(failure)}  mov [failure], rdx
      48890425${le(failure + 8)}  mov [failure+8], rax
      bb${le(failed)}     mov ebx, failed
      e96cffffff       jmp next
      4883eb80         done: sub rbx, -128
      e963ffffff       jmp next
      31ff             end: xor edi, edi
      b8e7000000       mov eax, 231 (exit_group)
      0f05             syscall`,
  aarch64: ({ table, failed, failure }) => `${move(19, table)} mov x19, table
      700240f9         next: ldr x16, [x19]
      b00500b4         cbz x16, end
      ff8300d1         sub sp, sp, 32
      692e40f9         ldr x9, [x19, 0x58]
      290140f9         ldr x9, [x9]
      e90300f9         str x9, [sp] (argument 9)
      693240f9         ldr x9, [x19, 0x60]
      290140f9         ldr x9, [x9]
      e90700f9         str x9, [sp, 8]
      693640f9         ldr x9, [x19, 0x68]
      290140f9         ldr x9, [x9]
      e90b00f9         str x9, [sp, 16] (argument 11)
      600e40f9         ldr x0, [x19, 0x18]
      000040f9         ldr x0, [x0] (argument 1)
      611240f9         ldr x1, [x19, 0x20]
      210040f9         ldr x1, [x1]
      621640f9         ldr x2, [x19, 0x28]
      420040f9         ldr x2, [x2]
      631a40f9         ldr x3, [x19, 0x30]
      630040f9         ldr x3, [x3]
      641e40f9         ldr x4, [x19, 0x38]
      840040f9         ldr x4, [x4]
      652240f9         ldr x5, [x19, 0x40]
      a50040f9         ldr x5, [x5]
      662640f9         ldr x6, [x19, 0x48]
      c60040f9         ldr x6, [x6]
      672a40f9         ldr x7, [x19, 0x50]
      e70040f9         ldr x7, [x7] (argument 8)
      100240f9         ldr x16, [x16]
      00023fd6         blr x16
      ff830091         add sp, sp, 32
      690a40f9         ldr x9, [x19, 0x10]
      200100f9         str x0, [x9]
      690640f9         ldr x9, [x19, 8]
      490100b4         cbz x9, done
      20010034         cbz w0, done
      ${move(10, failure)} mov x10, failure
      490100f9         str x9, [x10]
      e003002a         mov w0, w0
      400500f9         str x0, [x10, 8]
      ${move(19, failed)} mov x19, failed
      d5ffff17         b next
      73020291         done: add x19, x19, 128
      d3ffff17         b next
      000080d2         end: mov x0, 0
      c80b80d2         mov x8, 94 (exit_group)
      010000d4         svc 0`,
};

interface CodeAddresses {
  readonly table: number;
  readonly failed: number;
  readonly failure: number;
}

function le(value: number): string {
  const word = Buffer.alloc(4);
  word.writeUInt32LE(value);
  return word.toString('hex');
}

/** Two instructions of AArch64 that write a number into a register: movz, movk. */
function move(register: number, value: number): string {
  const half = (opcode: number, bits: number): string => le((opcode + bits * 32 + register) >>> 0);
  return half(0xd280_0000, value & 0xffff) + half(0xf2a0_0000, value >>> 16);
}

function assembled(listing: string): Buffer {
  return Buffer.from(listing.replaceAll(/^ *([0-9a-f]+) .*\n?/gm, '$1'), 'hex');
}

/** The writable part of the program. Each entry has an address from the moment that it is added. */
class Data {
  readonly #parts: Buffer[] = [];
  #end: number;

  constructor(start: number) {
    this.#end = start;
  }

  /** Adds bytes at a multiple of 8; returns their address. */
  add(bytes: Buffer): number {
    const at = this.#end;
    const padded = Buffer.alloc(Math.ceil(bytes.length / 8) * 8);
    bytes.copy(padded);
    this.#parts.push(padded);
    this.#end += padded.length;
    return at;
  }

  word(value = 0): number {
    return this.add(words(value));
  }

  text(value: string): number {
    return this.add(Buffer.from(`${value}\0`));
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

const libraries = ['libcuda.so.1', 'libc.so.6'] as const;
const functions = [
  'alarm',
  'dprintf',
  'getenv',
  'memcmp',
  'strtoull',
  'cuInit',
  'cuDeviceGet',
  'cuCtxCreate_v2',
  'cuModuleLoadData',
  'cuModuleGetFunction',
  'cuMemAlloc_v2',
  'cuMemcpyHtoD_v2',
  'cuMemcpyDtoH_v2',
  'cuLaunchKernel',
  'cuCtxSynchronize',
] as const;
type Name = (typeof functions)[number];

/** An argument: the address of a word that is read when the call is made. */
interface Call {
  readonly call: Name;
  /** Name of the step whose result must be 0. */
  readonly step?: string;
  readonly result?: number;
  readonly args: readonly number[];
}

/** Prefix of every line that the program prints. */
export const deepPrefix = 'azp-fleet: deep';
/** The variable with the number of bytes to test. */
export const bytesVariable = 'DEEP_CHECK_BYTES';

/** The calls of the deep check, and those after a failed one. `failure`: where name and result of the failed step are. */
function calls(
  to: Data,
  failure: number,
  seconds: number,
): { readonly all: Call[]; readonly failed: Call[] } {
  const [device, context, module, small, big, bytes, text] = Array.from({ length: 7 }, () => to.word()) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const number = (value: number): number => to.word(value);
  const words4 = compute.threads;
  const [host, expected] = [to.add(Buffer.alloc(4 * words4)), to.add(Buffer.from(computed().buffer))];
  const print = (format: string, ...args: readonly number[]): Call => ({
    call: 'dprintf',
    args: [number(1), number(to.text(`${deepPrefix} ${format}\n`)), ...args],
  });
  const kernel = (name: string): { readonly handle: number; readonly load: Call } => {
    const handle = to.word();
    const args = [number(handle), module, number(to.text(name))];
    return { handle, load: { call: 'cuModuleGetFunction', step: 'cuModuleGetFunction', args } };
  };
  const launch = (handle: number, blocks: number, params: readonly number[]): Call[] => {
    const [one, zero] = [number(1), number(0)];
    const list = to.add(words(...params));
    const args = [handle, number(blocks), one, one, number(words4), one, one, zero, zero, number(list), zero];
    return [{ call: 'cuLaunchKernel', step: 'cuLaunchKernel', args }];
  };
  const finish: Call = { call: 'cuCtxSynchronize', step: 'cuCtxSynchronize', args: [] };
  const fetch = (size: number): Call => ({
    call: 'cuMemcpyDtoH_v2',
    step: 'cuMemcpyDtoH',
    args: [number(host), small, number(size)],
  });
  const [work, fill, check] = [kernel('compute'), kernel('fill'), kernel('check')];
  // No mismatch, and the largest number as the place of the first.
  const clean = to.add(Buffer.concat([words(0), Buffer.alloc(8, 0xff)]));
  const [count, first] = [host, host + 8];
  return {
    all: [
      { call: 'alarm', args: [number(seconds)] },
      { call: 'cuInit', step: 'cuInit', args: [number(0)] },
      { call: 'cuDeviceGet', step: 'cuDeviceGet', args: [number(device), number(0)] },
      { call: 'cuCtxCreate_v2', step: 'cuCtxCreate', args: [number(context), number(0), device] },
      { call: 'cuModuleLoadData', step: 'cuModuleLoadData', args: [number(module), number(to.text(ptx))] },
      ...[work, fill, check].map(({ load }) => load),
      { call: 'cuMemAlloc_v2', step: 'cuMemAlloc', args: [number(small), number(4 * words4)] },
      ...launch(work.handle, 1, [small]),
      finish,
      fetch(4 * words4),
      { call: 'memcmp', step: 'result', args: [number(host), number(expected), number(4 * words4)] },
      print('kernel'),
      { call: 'getenv', result: text, args: [number(to.text(bytesVariable))] },
      { call: 'strtoull', result: bytes, args: [text, number(0), number(10)] },
      { call: 'cuMemAlloc_v2', step: 'cuMemAlloc', args: [number(big), bytes] },
      ...seeds.flatMap((seed): Call[] => {
        const at = to.word(seed);
        return [
          { call: 'cuMemcpyHtoD_v2', step: 'cuMemcpyHtoD', args: [small, number(clean), number(16)] },
          ...launch(fill.handle, 1024, [big, bytes, at]),
          ...launch(check.handle, 1024, [big, bytes, at, small]),
          finish,
          fetch(16),
          print('memory %lu %lx', count, first),
        ];
      }),
      print('done %lu', bytes),
    ],
    failed: [print('failed %s %lu', failure, failure + 8)],
  };
}

/** Returns the program. `seconds`: after them its own alarm ends it. */
export function deepProgram(machine: DeepMachine, seconds: number): Buffer {
  const { id, linker, relocation } = machines[machine];
  const names = `\0${[...libraries, ...functions].join('\0')}\0`;
  const nameAt = (name: string): number => names.indexOf(`\0${name}\0`) + 1;
  const codeBytes = assembled(code[machine]({ table: 0, failed: 0, failure: 0 })).length;
  const sizes = {
    headers: 64 + 5 * 56,
    symbols: 24 * (functions.length + 1),
    relocations: 24 * functions.length,
    code: codeBytes,
    linker: linker.length + 1,
    names: names.length,
  };
  const at = { symbols: 0, relocations: 0, code: 0, linker: 0, names: 0 };
  let end = sizes.headers;
  for (const part of ['symbols', 'relocations', 'code', 'linker', 'names'] as const) {
    at[part] = end;
    end += sizes[part];
  }
  const dataAt = Math.ceil(end / 16) * 16;
  const to = new Data(data + dataAt);
  const entries = new Map(functions.map((name) => [name, to.word()]));
  const dynamic = [
    ...libraries.map((name) => [1, nameAt(name)]),
    // STRTAB, SYMTAB, RELA, RELASZ, RELAENT, STRSZ, SYMENT
    [5, base + at.names],
    [6, base + at.symbols],
    [7, base + at.relocations],
    [8, sizes.relocations],
    [9, 24],
    [10, names.length],
    [11, 24],
    [0, 0],
  ].flat();
  const dynamicAt = to.add(words(...dynamic));
  const failure = to.add(words(0, 0));
  const [unused, zero] = [to.word(), to.word()];
  const { all, failed } = calls(to, failure, seconds);
  const table = (list: readonly Call[]): number =>
    to.add(
      Buffer.concat([
        ...list.map(({ call, step, result = unused, args }) => {
          const named = step === undefined ? 0 : to.text(step);
          const given = Array.from({ length: mostArguments }, (_, index) => args[index] ?? zero);
          const entry = words(entries.get(call) ?? 0, named, result, ...given);
          return Buffer.concat([entry, Buffer.alloc(callBytes - entry.length)]);
        }),
        Buffer.alloc(callBytes),
      ]),
    );
  const addresses = { table: table(all), failed: table(failed), failure };
  const written = to.bytes;
  const program = Buffer.alloc(dataAt + written.length);
  elfHeader(id, base + at.code).copy(program);
  Buffer.concat([
    segment(3, 4, [at.linker, base + at.linker, sizes.linker], 1),
    segment(1, 5, [0, base, end], 0x1_0000),
    segment(1, 6, [dataAt, data + dataAt, written.length], 0x1_0000),
    segment(2, 6, [dynamicAt - data, dynamicAt, 8 * dynamic.length], 8),
    segment(0x6474_e551, 6, [0, 0, 0], 16),
  ]).copy(program, 64);
  const symbols = functions.map((name) => words(symbolInfo(nameAt(name)), 0, 0));
  Buffer.concat([words(0, 0, 0), ...symbols]).copy(program, at.symbols);
  const links = functions.map((name, index) =>
    words(entries.get(name) ?? 0, (index + 1) * 2 ** 32 + relocation, 0),
  );
  Buffer.concat(links).copy(program, at.relocations);
  assembled(code[machine](addresses)).copy(program, at.code);
  program.write(`${linker}\0`, at.linker);
  program.write(names, at.names);
  written.copy(program, dataAt);
  return program;
}
