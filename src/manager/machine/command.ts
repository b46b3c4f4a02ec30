import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { kill } from 'node:process';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { Lines } from '../../shared/engine/frames.ts';

export interface CommandResult {
  /** -1: the program could not be started. */
  readonly code: number;
  readonly output: string;
  /** The program printed more than 16 MiB; the end was dropped. */
  readonly isCut?: boolean;
  readonly timedOut: boolean;
  /** Returns whether the program still runs after the deadline. */
  stillRunning(): boolean;
}

export type RunCommand = (
  program: string,
  args: readonly string[],
  deadlineMs: number,
) => Promise<CommandResult>;

/** The environment of children: no credential, messages in English, times in UTC. */
export const childEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

const { bytes: mostOutput } = readerBounds.programOutput;

/**
 * Runs a program to its exit, or until the deadline: then it is killed with all its children. A process that hangs in the
 * kernel cannot be killed; the result does not wait for it. Both output streams are joined.
 */
export function runCommand(
  program: string,
  args: readonly string[],
  deadlineMs: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = '';
    let isCut = false;
    let timedOut = false;
    const child = spawn(program, args, {
      env: { ...childEnvironment, ...variables },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const finish = (code: number): void => {
      clearTimeout(timer);
      resolve({ code, output, isCut, timedOut, stillRunning: () => groupRuns(child.pid) });
    };
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child.pid);
      child.unref();
      child.stdout.destroy();
      child.stderr.destroy();
      finish(-1);
    }, deadlineMs);
    const take = (text: string): void => {
      if (output.length < mostOutput) output += text;
      else isCut = true;
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.on('error', (error) => {
      output += error.message;
      finish(-1);
    });
    child.on('close', (code) => finish(code ?? -1));
  });
}

/** Kills a program and its children. */
function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) kill(-leader, 'SIGKILL');
  } catch {
    // No process is left.
  }
}

/** Returns whether a process of the group runs, without zombies. */
function groupRuns(leader: number | undefined): boolean {
  return readdirSync('/proc').some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const [, state, , group] = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
      return Number(group) === leader && state !== 'Z';
    } catch {
      return false;
    }
  });
}

/** Runs a program until it exits or the signal is aborted, and passes each line of its output. Rejects if `onLine` throws. */
export type FollowCommand = (
  program: string,
  args: readonly string[],
  onLine: (line: string) => void,
  signal: AbortSignal,
) => Promise<{
  /** The program's last error output; empty when the signal stopped it. */
  readonly complaint: string;
}>;

const longestComplaint = 2_000;

export const followCommand: FollowCommand = (program, args, onLine, signal) =>
  new Promise((resolve, reject) => {
    let complaint = '';
    const lines = new Lines();
    const child = spawn(program, args, { env: childEnvironment, stdio: ['ignore', 'pipe', 'pipe'] });
    const stop = (): void => void child.kill('SIGKILL');
    const finish = (): void => {
      signal.removeEventListener('abort', stop);
      resolve({ complaint: signal.aborted ? '' : complaint.trim() });
    };
    signal.addEventListener('abort', stop, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) onLine(line);
      } catch (error) {
        stop();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-longestComplaint);
    });
    child.on('error', (error) => {
      complaint = error.message;
      finish();
    });
    child.on('close', finish);
  });
