import { spawn } from 'node:child_process';

import { usageError } from '../../../shared/base/errors.ts';
import { foreignLines } from '../../../shared/base/foreign-text.ts';
import { quote } from '../../../shared/base/shell.ts';

/** The output of `ssh -G`: options by name in lower case, each with its values. */
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

/** Splits files on one line. A path begins with `/` or `~`, and may contain spaces. */
export function filesOf(value: string): readonly string[] {
  return value
    .split(/\s+(?=[/~]|none(?:\s|$))/)
    .filter((file) => file !== '' && file.toLowerCase() !== 'none');
}

/** Returns the files that ssh read, from the stderr of `ssh -v`. */
export function filesRead(stderr: string): readonly string[] {
  return [...stderr.matchAll(/^debug\d: Reading configuration data (.+?)\r?$/gm)].map(
    ([, file = '']) => file,
  );
}

/** Returns ssh's messages on stderr, without those of -v. */
function messagesIn(stderr: string): string {
  return stderr
    .split(/\r?\n/)
    .filter((line) => line !== '' && !/^(debug\d: |OpenSSH_|Pseudo-terminal )/.test(line))
    .join('\n');
}

/** The output of `ssh`, or the reason for none. */
export type Answer =
  | { readonly kind: 'output'; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'refused'; readonly stderr: string }
  | { readonly kind: 'no-ssh' }
  | { readonly kind: 'too-long' | 'too-much' | 'stopped' };

/** Time limit: `Match exec` and canonical names may query a directory or a DNS server. */
const longestMs = 10_000;
/** Maximum output: a dump has some 5 kB, and a line of stderr for every included file. */
const mostBytes = 1 << 20;

/** Runs ssh and returns its output. Kills its process group at the end: `Match exec` runs programs. Never rejects. */
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
    const abort = (kind: 'too-long' | 'too-much' | 'stopped'): void => {
      killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      finish({ kind });
    };
    const stop = (): void => abort('stopped');
    const timer = setTimeout(() => abort('too-long'), longestMs);
    signal.addEventListener('abort', stop, { once: true });
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > mostBytes) abort('too-much');
        else texts[name].push(chunk);
      });
    }
    const text = (name: 'stdout' | 'stderr'): string => Buffer.concat(texts[name]).toString();
    child.once('error', () => finish({ kind: 'no-ssh' }));
    child.once('close', (code) =>
      finish(
        code === 0
          ? { kind: 'output', stdout: text('stdout'), stderr: text('stderr') }
          : { kind: 'refused', stderr: text('stderr') },
      ),
    );
  });
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has exited.
  }
}

/** Maximum characters of ssh's messages in an error. */
const longestMessages = 1_000;

/** Returns the error for a failed `ssh -G`. `byHand`: its arguments, for the user to paste. */
export function noAnswer(name: string, answer: Answer, byHand: string): Error {
  const messages = answer.kind === 'refused' ? foreignLines(messagesIn(answer.stderr), longestMessages) : '';
  const place = { code: 'ssh.config', host: name, step: 'connect' } as const;
  const loop = /jumphost loop via (\S+)/.exec(messages)?.[1];
  if (loop !== undefined)
    return usageError({
      ...place,
      code: 'ssh.jump',
      what: `the jump hosts to ${loop} form a loop`,
      next: 'end the chain in ~/.ssh/config: "ProxyJump none" for the jump host',
    });
  if (answer.kind === 'refused') {
    const unsafe = /^Bad owner or permissions on (.+)$/m.exec(messages)?.[1];
    return usageError({
      ...place,
      what: 'ssh refuses its configuration for this host',
      seen: messages,
      next: /^No user exists for uid /m.test(messages)
        ? 'add this user to /etc/passwd, or set "sshConfig: none" in the inventory'
        : unsafe === undefined
          ? `correct these lines, then run: ssh ${byHand}`
          : `remove write access of other users: chmod go-w ${quote(unsafe)}`,
    });
  }
  const [what, seen] = {
    'too-long': ['ssh did not finish reading its configuration', '10 s without a result'],
    'too-much': ['ssh printed too much for its configuration', 'more than 1 MiB'],
    stopped: ['stopped while ssh read its configuration', undefined],
    output: ['ssh printed no configuration', undefined],
    'no-ssh': ['ssh cannot be started', undefined],
  }[answer.kind];
  return usageError({
    ...place,
    what: what ?? '',
    ...(seen === undefined ? {} : { seen }),
    next: `ssh -v ${byHand}   # Match exec and CanonicalizeHostname ask others`,
  });
}
