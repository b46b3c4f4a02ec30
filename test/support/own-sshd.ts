import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';

import type { SshSpec } from '../../src/fleet/inventory/fleet.ts';
import type { Target } from '../../src/fleet/ssh/transport.ts';
import { freePort, sshAnswers } from './ssh-port.ts';
import { sshSpec } from './transport.ts';

interface OwnSshdOptions {
  /** Lines for sshd_config, before the defaults: the first value wins. FOLDER is the folder of its keys. */
  readonly config?: readonly string[];
  /** Leaves logins unchanged: no path is moved, and the user keeps its id. Forced commands receive no signals. */
  readonly plain?: boolean;
  /** Programs of this host, before those of the machine: shell text by name. ROOT in it is `root` below. */
  readonly programs?: Readonly<Record<string, string>>;
}

/**
 * Starts a real sshd without rights: on a loopback port, with separate keys and configuration, run by the user of the tests,
 * who alone can log in, by key only (only root can check system passwords). What scripts keep below /run, /var/lib and /opt is
 * in a separate folder; a user who logs in counts as root there.
 */
export class OwnSshd {
  readonly folder: string;
  readonly port: number;
  readonly user = userInfo().username;
  /** The host's /run/azp-fleet is `ROOT/run/azp-fleet`. */
  readonly root: string;
  readonly hostKeyFile: string;
  readonly clientKeyFile: string;
  readonly #process: ChildProcess;

  constructor(folder: string, port: number, process: ChildProcess) {
    this.folder = folder;
    this.port = port;
    this.root = join(folder, 'root');
    this.hostKeyFile = join(folder, 'host_ed25519');
    this.clientKeyFile = join(folder, 'client_ed25519');
    this.#process = process;
  }

  /** `ssh-ed25519 AAAA…` */
  get hostKey(): string {
    return publicKey(this.hostKeyFile);
  }

  /** How the current user connects, unless `spec` says otherwise. */
  target(spec: Partial<SshSpec> = {}, name = 'box'): Target {
    const { port, user, clientKeyFile: identityFile } = this;
    return { name, ssh: sshSpec({ address: '127.0.0.1', port, user, identityFile, ...spec }) };
  }

  /** Returns the path on this machine of a file of the host. */
  path(onHost: string): string {
    return join(this.root, onHost);
  }

  log(): string {
    return readFileSync(join(this.folder, 'sshd.log'), 'utf8');
  }

  /** Ends sshd and all processes of its sessions. */
  async stop(): Promise<void> {
    const { pid = 0, exitCode, signalCode } = this.#process;
    if (exitCode === null && signalCode === null) {
      const ended = once(this.#process, 'close');
      for (const each of ofSshd(pid, this.folder)) kill(each);
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Returns the processes of logins. Each login, and each of its commands, has a separate session that no signal to a group
 * reaches; a process that outlives its login has this folder among its arguments.
 */
function ofSshd(of: number, folder: string): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n');
  const all = lines.map((line) => {
    const [, pid, ppid, args = ''] = /^\s*(\d+)\s+(\d+)\s(.*)$/.exec(line) ?? [];
    return { pid: Number(pid), ppid: Number(ppid), args };
  });
  const below = (parent: number): number[] =>
    all.flatMap(({ pid, ppid }) => (ppid === parent ? [pid, ...below(pid)] : []));
  const left = all.filter(({ args }) => args.includes(folder)).map(({ pid }) => pid);
  return [of, ...left].flatMap((pid) => [pid, ...below(pid)]);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited.
  }
}

/** Returns type and key of a public key file, without its comment. */
export function publicKey(file: string): string {
  return readFileSync(`${file}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
}

/** Creates a key pair without a passphrase. */
export function makeKey(file: string, type = 'ed25519'): string {
  execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'test', '-f', file]);
  return file;
}

export async function startOwnSshd({
  config = [],
  plain = false,
  programs = {},
}: OwnSshdOptions = {}): Promise<OwnSshd> {
  const program = sshdProgram();
  const folder = mkdtempSync(join(tmpdir(), 'azp-own-sshd-'));
  const port = await freePort();
  for (const name of ['host_ed25519', 'client_ed25519']) makeKey(join(folder, name));
  writePrograms(folder, programs);
  mkdirSync(join(folder, 'home'));
  writeFileSync(
    join(folder, 'sshd_config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      ...config.map((line) => line.replaceAll('FOLDER', folder)),
      `HostKey ${join(folder, 'host_ed25519')}`,
      `AuthorizedKeysFile ${join(folder, 'client_ed25519.pub')}`,
      ...(plain ? [] : [`ForceCommand ${join(folder, 'bin', 'relocate')}`]),
      // Not the user's own: what its .bashrc runs may take a minute, or be left half done when a test ends a login.
      `SetEnv HOME=${join(folder, 'home')}`,
      'PidFile none',
      'PermitRootLogin yes',
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'LogLevel VERBOSE',
      '',
    ].join('\n'),
  );
  const log = join(folder, 'sshd.log');
  const args = [program, '-D', '-f', join(folder, 'sshd_config'), '-E', log];
  const child = spawn('/bin/sh', ['-c', withUs, '-', ...args], { stdio: ['pipe', 'ignore', 'ignore'] });
  const sshd = new OwnSshd(folder, port, child);
  const ended = once(child, 'close').then(() => {
    throw new Error(`sshd did not start: ${existsSync(log) ? sshd.log() : 'it wrote no log'}`);
  });
  ended.catch(() => undefined);
  await Promise.race([sshAnswers(port, '127.0.0.1'), ended]);
  return sshd;
}

/** Runs a program that ends when its standard input closes: at the latest when this process exits. */
const withUs = 'exec 3<&0; "$@" & p=$!; { cat <&3 >/dev/null; kill -9 "$p"; } 2>/dev/null & wait "$p"';

/** Returns the path of sshd. Tests do not install it: of a package that is being installed, sshd is there too early. */
function sshdProgram(): string {
  const path = sshdPath();
  if (path === undefined) throw new Error('There is no sshd. Next: install the OpenSSH server');
  // As root, sshd needs this folder for privilege separation; the package leaves its creation to the service.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  return path;
}

/** Returns the absolute path of sshd, which it needs to start itself again for each connection. */
function sshdPath(): string | undefined {
  const folders = ['/usr/sbin', '/usr/local/sbin', ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, 'sshd')).find((path) => existsSync(path));
}

/** Writes the programs of a login: they move its paths, come before the machine's, and report the id of root. */
export function writePrograms(folder: string, programs: Readonly<Record<string, string>>): void {
  const [bin, root] = [join(folder, 'bin'), join(folder, 'root')];
  mkdirSync(bin);
  for (const path of ['run', 'var/lib', 'opt']) mkdirSync(join(root, path), { recursive: true });
  const places = ['/run/azp-fleet', '/var/lib/azp-fleet', '/opt/azp-fleet'];
  const moves = places.map((place) => `-e 's#${place}#${root}${place}#g'`).join(' ');
  const path = `-e 's#PATH=/usr/local/sbin#PATH=${bin}:/usr/local/sbin#g'`;
  const all: Readonly<Record<string, string>> = {
    // Commands hold their program in base64 and read the script as a line of input, whose paths are moved when it is read.
    relocate: `PATH=${bin}:$PATH; export PATH
coded=$(printf '%s' "$SSH_ORIGINAL_COMMAND" | sed -n 's/^exec .bin.sh -c .eval "$(echo \\([^ ]*\\) | base64 -d)".$/\\1/p')
[ -n "$coded" ] || exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
exec /bin/sh -c "$(printf '%s' "$coded" | base64 -d | sed ${path} -e 's#tr "\\\\001" "\\\\n"#& | moved#')"
`,
    moved: `exec sed ${moves} ${path}\n`,
    id: `[ "$*" != -u ] || { echo 0; exit; }\nexec /usr/bin/id "$@"\n`,
    chown: ':\n',
    ...programs,
  };
  for (const [name, text] of Object.entries(all))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text.replaceAll('ROOT', root)}`, { mode: 0o755 });
}
