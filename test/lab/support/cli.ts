import { spawn, type ChildProcess } from 'node:child_process';

import { cliEnvironment, command } from '../../../practice/lab/azp-fleet.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { until, type Output } from '../../../practice/lab/run.ts';

/** One run of the built command, as a user starts it: no terminal, a separate environment. */
export interface CliRun {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  stdout(): string;
  stderr(): string;
  readonly done: Promise<Output>;
  /** Resolves when its stderr matches; rejects when it ends before. */
  said(pattern: RegExp): Promise<void>;
}

/** Starts the command without waiting for its end; `azpFleet` of the harness waits. */
export function startCli(
  lab: Lab,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): CliRun {
  const child = spawn(process.execPath, [command, ...args], {
    cwd: lab.folder,
    env: { PATH: process.env['PATH'], ...cliEnvironment(lab.folder), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let ended = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const done = new Promise<Output>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      ended = true;
      resolve({ code: code ?? 137, stdout, stderr });
    });
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    done,
    said: async (pattern) => {
      await until(
        `azp-fleet to say ${pattern}`,
        () => {
          if (pattern.test(stderr)) return Promise.resolve(true);
          if (ended) throw new Error(`azp-fleet ended without ${pattern}:\n${stderr}`);
          return Promise.resolve(false);
        },
        { everyMs: 50 },
      );
    },
  };
}
