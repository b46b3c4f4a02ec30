import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from '../../practice/lab/machine.ts';
import { freePort, sshAnswers } from './ssh-port.ts';

/** A user that exists only in the sshd's own view of /etc. */
interface TestUser {
  readonly name: string;
  /** Default /bin/bash. */
  readonly shell?: string;
  /** Clear text; without it password login is locked. */
  readonly password?: string;
  /** Right side of the sudoers line, e.g. `ALL=(ALL) NOPASSWD: ALL`; absent: not in sudoers. */
  readonly sudo?: string;
  /** Content of ~/.bashrc (bash), ~/.cshrc or ~/.config/fish/config.fish by shell. */
  readonly rc?: string;
}

export interface SshdOptions {
  readonly users?: readonly TestUser[];
  /** Lines for sshd_config, before the defaults: the first value wins. FOLDER is where its keys are. */
  readonly config?: readonly string[];
  /** Extra lines for sudoers. */
  readonly sudoers?: readonly string[];
  readonly listen?: string;
  /** Replaces /etc/pam.d/sshd. */
  readonly pam?: readonly string[];
}

/**
 * Starts a real sshd on a loopback port. Users, sudoers, /opt and /run are in a mount namespace: those of the machine stay
 * unchanged.
 */
export class Sshd {
  readonly folder: string;
  readonly port: number;
  readonly hostKeyFile: string;
  readonly clientKeyFile: string;
  readonly #pid: number;

  constructor(folder: string, port: number, pid: number) {
    this.folder = folder;
    this.port = port;
    this.#pid = pid;
    this.hostKeyFile = join(folder, 'host_ed25519');
    this.clientKeyFile = join(folder, 'client_ed25519');
  }

  /** `ssh-ed25519 AAAA…` */
  get hostKey(): string {
    return readFileSync(`${this.hostKeyFile}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
  }

  log(): string {
    return readFileSync(join(this.folder, 'sshd.log'), 'utf8');
  }

  /** A process id as the kernel sees it, for signals and packet filters. */
  get pid(): number {
    return this.#pid;
  }

  stop(): void {
    try {
      process.kill(-this.#pid, 'SIGKILL');
    } catch {
      // It has exited.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Debian package → a program of it. */
const needed = {
  'openssh-server': 'sshd',
  'openssh-client': 'ssh',
  sudo: 'sudo',
  openssl: 'openssl',
  tcsh: 'tcsh',
  fish: 'fish',
  zsh: 'zsh',
};

export async function startSshd(options: SshdOptions = {}): Promise<Sshd> {
  await ensurePackages(needed);
  const folder = mkdtempSync(join(tmpdir(), 'azp-sshd-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const users = options.users ?? [];
  const asked = ['host_ecdsa', 'host_rsa'].filter((name) =>
    options.config?.some((line) => line.includes(name)),
  );
  for (const name of ['host_ed25519', 'client_ed25519', ...asked]) {
    const type = name.split('_')[1] ?? '';
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', name, '-f', join(folder, name)]);
  }
  writeEtc(folder, users, options.sudoers ?? []);
  writeFileSync(
    join(folder, 'sshd_config'),
    [
      `Port ${port}`,
      `ListenAddress ${options.listen ?? '127.0.0.1'}`,
      ...(options.config ?? []).map((line) => line.replaceAll('FOLDER', folder)),
      `HostKey ${join(folder, 'host_ed25519')}`,
      `AuthorizedKeysFile ${join(folder, 'client_ed25519.pub')}`,
      `PidFile none`,
      'PermitRootLogin yes',
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication yes',
      'LogLevel VERBOSE',
      '',
    ].join('\n'),
  );
  const etc = join(folder, 'etc');
  if (options.pam !== undefined) writeFileSync(join(etc, 'pam.d-sshd'), `${options.pam.join('\n')}\n`);
  const binds = ['passwd', 'shadow', 'group', 'sudoers', ...(options.pam === undefined ? [] : ['pam.d-sshd'])]
    .map((name) => `mount --bind ${join(etc, name)} /etc/${name.replace('pam.d-', 'pam.d/')}`)
    .join(' && ');
  const errors = openSync(join(folder, 'sshd.err'), 'a');
  const child = spawn(
    // Ends with the process that runs the tests; with its stderr inherited, a test that fails would keep Vitest waiting.
    'setpriv',
    [
      '--pdeathsig=KILL',
      'unshare',
      '-m',
      'sh',
      '-c',
      `mount -t tmpfs none /opt && mount -t tmpfs none /run && mkdir -m 0755 /run/sshd && ${binds} && exec /usr/sbin/sshd -D -f ${join(folder, 'sshd_config')} -E ${join(folder, 'sshd.log')}`,
    ],
    { detached: true, stdio: ['ignore', 'ignore', errors] },
  );
  closeSync(errors);
  child.unref();
  const sshd = new Sshd(folder, port, child.pid ?? 0);
  await sshAnswers(
    port,
    options.listen === undefined || options.listen === '0.0.0.0' ? '127.0.0.1' : options.listen,
  );
  return sshd;
}

function writeEtc(folder: string, users: readonly TestUser[], sudoers: readonly string[]): void {
  const etc = join(folder, 'etc');
  mkdirSync(etc);
  for (const name of ['passwd', 'shadow', 'group']) copyFileSync(`/etc/${name}`, join(etc, name));
  const rights: string[] = ['root ALL=(ALL:ALL) ALL', 'Defaults !fqdn', ...sudoers];
  for (const [index, user] of users.entries()) {
    const id = 20_000 + index;
    const home = join(folder, 'home', user.name);
    const shell = user.shell ?? '/bin/bash';
    mkdirSync(home, { recursive: true });
    if (user.rc !== undefined) {
      const rc = shell.endsWith('csh')
        ? '.cshrc'
        : shell.endsWith('fish')
          ? '.config/fish/config.fish'
          : '.bashrc';
      mkdirSync(join(home, '.config/fish'), { recursive: true });
      writeFileSync(join(home, rc), user.rc);
    }
    execFileSync('chown', ['-R', `${id}:${id}`, home]);
    append(join(etc, 'passwd'), `${user.name}:x:${id}:${id}::${home}:${shell}`);
    append(join(etc, 'group'), `${user.name}:x:${id}:`);
    append(join(etc, 'shadow'), `${user.name}:${hash(user.password)}:19000:0:99999:7:::`);
    if (user.sudo !== undefined) rights.push(`${user.name} ${user.sudo}`);
  }
  writeFileSync(join(etc, 'sudoers'), `${rights.join('\n')}\n`, { mode: 0o440 });
}

function hash(password: string | undefined): string {
  if (password === undefined) return '*';
  return execFileSync('openssl', ['passwd', '-6', '-stdin'], { input: password, encoding: 'utf8' }).trim();
}

function append(file: string, line: string): void {
  writeFileSync(file, `${line}\n`, { flag: 'a' });
}
