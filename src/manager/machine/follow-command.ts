import { spawn } from 'node:child_process';
import { Lines } from '../../shared/engine/frames.ts';
import { childEnvironment } from './command.ts';

/** Runs a program until it ends or the signal is aborted, and hands over each line of its output. Never rejects. */
export type FollowCommand = (
  program: string,
  args: readonly string[],
  onLine: (line: string) => void,
  signal: AbortSignal,
) => Promise<{
  /** What it complained about at last; empty when it was told to end. */
  readonly complaint: string;
}>;

const longestComplaint = 2_000;

export const followCommand: FollowCommand = (program, args, onLine, signal) =>
  new Promise((resolve) => {
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
      for (const line of lines.push(chunk)) onLine(line);
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
