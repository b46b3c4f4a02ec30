import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync, closeSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';

/** Options of `npm run bench`. */
export interface Extent {
  /** Only the rows that a change of the program is likely to move. */
  readonly quick: boolean;
  /** Also what takes more than some minutes. */
  readonly long: boolean;
  /** Instead of each measurement's usual number. */
  readonly rounds: number | undefined;
}

export interface Program {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A file for its standard input. */
  readonly input?: string;
  /** Other exit codes than 0 that are no failure. */
  readonly exits?: readonly number[];
}

/** One run of a program. */
export interface Taken {
  readonly wallS: number;
  /** Of the program and the children that it has waited for. */
  readonly cpuS: number;
  readonly stdout: string;
  /** Exit code and last lines of a program that failed. */
  readonly failure?: string;
  /** Of a Node program that loaded `usage.mjs`. */
  readonly usage?: Usage;
}

/** What `usage.mjs` writes. */
interface Usage {
  readonly peakMB: number;
  readonly descriptors: number;
}

const timer = `exec 4>&2 2>&3; TIMEFORMAT='%R %U %S'; time "$@" 2>&4 3>&- 4>&-`;

/** Runs a program and measures it by the shell's `time`: its children count. A failed run is an answer. */
export async function timed({ command, env, cwd, input, exits = [] }: Program): Promise<Taken> {
  const stdin = input === undefined ? 'ignore' : openSync(input, 'r');
  const child = spawn('bash', ['-c', timer, 'bash', ...command], {
    stdio: [stdin, 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  });
  if (typeof stdin === 'number') closeSync(stdin);
  const code = new Promise<number>((resolve) => child.once('exit', (exit) => resolve(exit ?? 1)));
  const [stdout, stderr, times] = await Promise.all(
    [child.stdout, child.stderr, child.stdio[3]].map((stream) => text(stream as Readable)),
  );
  const [wallS = 0, user = 0, system = 0] = (times ?? '').trim().split(/\s+/u).map(Number);
  const exit = await code;
  const tail = `${stdout}\n${stderr}`.trim().split('\n').slice(-8).join('\n');
  const failed = exit !== 0 && !exits.includes(exit);
  return {
    wallS,
    cpuS: user + system,
    stdout: stdout ?? '',
    ...(failed ? { failure: `exit ${exit}: ${tail}` } : {}),
  };
}

const cli = join(import.meta.dirname, '../bin/azp-fleet.js');

/** A command of the shipped CLI in this Node. */
export function azpFleet(args: readonly string[], rest: Omit<Program, 'command'> = {}): Program {
  return { command: [process.execPath, cli, ...args], ...rest };
}

/** Runs a Node program and reads its memory and descriptors, too. */
export async function timedNode(program: Program): Promise<Taken> {
  const file = join(tmpdir(), `azp-bench-usage-${process.pid}`);
  const env = {
    ...program.env,
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'usage.mjs')}`,
    AZP_BENCH_USAGE: file,
  };
  try {
    const taken = await timed({ ...program, env });
    return existsSync(file) ? { ...taken, usage: JSON.parse(readFileSync(file, 'utf8')) as Usage } : taken;
  } finally {
    rmSync(file, { force: true });
  }
}

type Contenders<Name extends string> = Readonly<Record<Name, () => Promise<Taken>>>;

/**
 * Runs each contender once a round; each round begins with the next one. A contender that fails ends the measurement, because its
 * time would say nothing.
 */
export async function interleaved<Name extends string>(
  contenders: Contenders<Name>,
  rounds: number,
): Promise<Readonly<Record<Name, readonly Taken[]>>> {
  const names = Object.keys(contenders) as Name[];
  const taken = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Taken[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length] as Name;
      const one = await contenders[name]();
      if (one.failure !== undefined) throw new Error(`${name}: ${one.failure}`);
      process.stderr.write(`${name}: ${one.wallS.toFixed(2)} s, ${one.cpuS.toFixed(2)} s of CPU\n`);
      taken[name].push(one);
    }
  }
  return taken;
}

export const walls = (taken: readonly Taken[]): readonly number[] => taken.map(({ wallS }) => wallS);
export const cpus = (taken: readonly Taken[]): readonly number[] => taken.map(({ cpuS }) => cpuS);
