import { spawn } from 'node:child_process';

/** How `ssh` answered: what it printed, or why it did not. */
export type Answer =
  | { readonly kind: 'said'; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'refused'; readonly stderr: string }
  | { readonly kind: 'no-ssh' }
  | { readonly kind: 'too-long' | 'too-much' | 'stopped' };

/** `Match exec` and canonical names ask others: a directory, a DNS server. */
const longestMs = 10_000;
/** A dump has some 5 kB, and a line of stderr for every file that is included. */
const mostBytes = 1 << 20;

/** Runs ssh for what it prints. Ends with all that it started: `Match exec` runs programs. Never rejects. */
export function runSsh(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'stopped' });
    const child = spawn('ssh', args, { stdio: ['ignore', 'pipe', 'pipe'], env, detached: true });
    const texts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let bytes = 0;
    const finish = (answer: Answer): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(answer);
    };
    const giveUp = (kind: 'too-long' | 'too-much' | 'stopped'): void => {
      killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      finish({ kind });
    };
    const stop = (): void => giveUp('stopped');
    const timer = setTimeout(() => giveUp('too-long'), longestMs);
    signal.addEventListener('abort', stop, { once: true });
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > mostBytes) giveUp('too-much');
        else texts[name].push(chunk);
      });
    }
    const text = (name: 'stdout' | 'stderr'): string => Buffer.concat(texts[name]).toString();
    child.once('error', () => finish({ kind: 'no-ssh' }));
    child.once('close', (code) =>
      finish(
        code === 0
          ? { kind: 'said', stdout: text('stdout'), stderr: text('stderr') }
          : { kind: 'refused', stderr: text('stderr') },
      ),
    );
  });
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
