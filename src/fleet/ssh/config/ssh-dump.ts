import { spawn } from 'node:child_process';

import { usageError } from '../../../shared/base/errors.ts';
import { foreignLines } from '../../../shared/base/foreign-text.ts';
import { quote } from '../../../shared/base/shell.ts';

/** What `ssh -G` prints: options by name in lower case, each with the texts of its lines. */
export type Dump = ReadonlyMap<string, readonly string[]>;

export function parseDump(text: string): Dump {
  const options = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, option = '', value = ''] = /^(\S+)(?: (.*))?$/.exec(line) ?? [];
    if (option === '') continue;
    const name = option.toLowerCase();
    const known = options.get(name);
    if (known === undefined) options.set(name, [value]);
    else known.push(value);
  }
  return options;
}

/** Files on one line. Blanks within a path cannot be told from those between two: a path begins with `/` or `~`. */
export function filesOf(value: string): readonly string[] {
  return value
    .split(/\s+(?=[/~]|none(?:\s|$))/)
    .filter((file) => file !== '' && file.toLowerCase() !== 'none');
}

/** Which files were read, from what `ssh -v` says on stderr. */
export function filesRead(said: string): readonly string[] {
  return [...said.matchAll(/^debug\d: Reading configuration data (.+?)\r?$/gm)].map(([, file = '']) => file);
}

/** What ssh has to say for itself, without what -v adds. */
function complaintOf(said: string): string {
  return said
    .split(/\r?\n/)
    .filter((line) => line !== '' && !/^(debug\d: |OpenSSH_|Pseudo-terminal )/.test(line))
    .join('\n');
}

/** How `ssh` answered: what it printed, or why it did not. */
type Answer =
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

/** Characters of what ssh says that an error shows: a complaint for each wrong line. */
const mostSaid = 1_000;

/** Returns why `ssh -G` failed. `byHand`: its arguments, to be pasted. */
export function noAnswer(name: string, answer: Answer, byHand: string): Error {
  const told = answer.kind === 'refused' ? foreignLines(complaintOf(answer.stderr), mostSaid) : '';
  const place = { code: 'ssh.config', host: name, step: 'connect' } as const;
  const loop = /jumphost loop via (\S+)/.exec(told)?.[1];
  if (loop !== undefined)
    return usageError({
      ...place,
      code: 'ssh.jump',
      what: `the network path to ${loop} leads through itself`,
      next: 'end the chain in ~/.ssh/config: "ProxyJump none" for the jump host',
    });
  if (answer.kind === 'refused') {
    const unsafe = /^Bad owner or permissions on (.+)$/m.exec(told)?.[1];
    return usageError({
      ...place,
      what: 'ssh refuses its configuration for this host',
      seen: told,
      next:
        unsafe === undefined
          ? `correct what it names, then: ssh ${byHand}`
          : `make the file yours alone to write: chmod go-w ${quote(unsafe)}`,
    });
  }
  const [what, seen] = {
    'too-long': ['ssh does not come to an end with its configuration', '10 s without a result'],
    'too-much': ['ssh says too much of its configuration', 'more than 1 MiB'],
    stopped: ['stopped while ssh read its configuration', undefined],
    said: ['ssh says nothing of its configuration', undefined],
    'no-ssh': ['the program ssh cannot be started', undefined],
  }[answer.kind];
  return usageError({
    ...place,
    what: what ?? '',
    ...(seen === undefined ? {} : { seen }),
    next: `ssh -v ${byHand}   # Match exec and CanonicalizeHostname ask others`,
  });
}
