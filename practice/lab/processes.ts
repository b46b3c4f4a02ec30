import { existsSync, readFileSync } from 'node:fs';

import { alive, until } from './run.ts';

/**
 * The process that a file names by its number, while it runs and is the one that was meant: numbers are given out
 * again. `note` is what stands behind the number.
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

/** A process may end between two looks. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
