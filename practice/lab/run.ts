import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
  /** A non-zero exit is an answer, not an error. */
  readonly allowFailure?: boolean;
}

/** Runs a program to its end. Rejects with the command and the end of its output unless it exits 0. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Output> {
  const child = spawn(command, args, {
    stdio: 'pipe',
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  child.on('error', reject);
  child.on('close', (code, signal) => {
    resolve(code ?? (signal === null ? 1 : 137));
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  const code = await promise;
  if (code !== 0 && options.allowFailure !== true) {
    const tail = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
    throw new Error(`${command} ${args.slice(0, 6).join(' ')} … exited ${code}:\n${tail}`);
  }
  return { code, stdout, stderr };
}

/** Polls until the answer is truthy; rejects with `what` after the time limit. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  { timeoutMs = 900_000, everyMs = 150 } = {},
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`no success within ${Math.round(timeoutMs / 1000)} s: ${what}`);
    await new Promise((resume) => setTimeout(resume, everyMs));
  }
}

/** Starts a program that outlives this one; its output goes to `log`. Returns its process id. */
export function detach(
  command: string,
  args: readonly string[],
  log: string,
  env: Readonly<Record<string, string>> = {},
): number {
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, 'a');
  // A test run removes its temporary folder, and the program may run longer: a demo may use it by then.
  const { TMPDIR: _, ...inherited } = process.env;
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...inherited, ...env },
  });
  child.on('error', () => undefined);
  child.unref();
  closeSync(output);
  return child.pid ?? 0;
}

export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the process with the id in a file, if it still is the same process: ids are reused. `note` is the text after the
 * id.
 */
export function pidIn(file: string, isOurs: (pid: number, note: string) => boolean): number | undefined {
  if (!existsSync(file)) return undefined;
  const [number = '', note = ''] = readFileSync(file, 'utf8').trim().split(' ');
  const pid = Number(number);
  return Number.isInteger(pid) && pid > 0 && alive(pid) && isOurs(pid, note) ? pid : undefined;
}

/** Ends a process, if it runs, and waits until it is gone. */
export async function endProcess(pid: number | undefined, name = `process ${pid}`): Promise<void> {
  if (pid === undefined || !alive(pid)) return;
  process.kill(pid, 'SIGTERM');
  await until(`end of ${name}`, () => Promise.resolve(!alive(pid)), { timeoutMs: 30_000 });
}

/** The program and its arguments; empty when it is gone. */
export function commandLine(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`).replace(/\0$/, '').split('\0');
}

/** What it was started with, `NAME=value`; empty when it is gone. */
export function environment(pid: number): string[] {
  return read(`/proc/${pid}/environ`).split('\0');
}

/** Ticks since boot at which a process began; empty when there is none. */
export function startTime(pid: number): string {
  const afterName = read(`/proc/${pid}/stat`).replace(/^.*\) /s, '');
  return afterName.split(' ')[19] ?? '';
}

/** A process may exit between two checks. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
