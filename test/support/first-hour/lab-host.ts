import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import ssh2 from 'ssh2';

import { gpuPrograms, writeGpuMachine } from '../gpu-machine.ts';
import { writePrograms } from '../own-sshd.ts';
import { ownSudo } from '../own-sudo.ts';
import { sshKeyPair } from '../ssh-key.ts';

/** Settings of sshd, sudo and the account; a test changes some. */
interface Settings {
  /** User that may log in, by a key of ~/.ssh/authorized_keys or by `loginPassword`. */
  user: string;
  loginPassword: string | undefined;
  /** Below 1 no command may run: MaxSessions. */
  maxSessions: number;
  /** Closes every connection: MaxStartups, or a filter of addresses. */
  hangsUp: boolean;
  forwards: boolean;
}

/**
 * A lab machine seen through sshd: keys and passwords are checked; commands run in real shells, as a user whom sudo
 * (`own-sudo.ts`) makes root. Its files are in a separate folder.
 */
export class LabHost {
  readonly folder = mkdtempSync(join(tmpdir(), 'azp-lab-host-'));
  readonly home = join(this.folder, 'home');
  readonly settings: Settings = {
    user: 'ann',
    loginPassword: 'ann-s-password',
    maxSessions: 10,
    hangsUp: false,
    forwards: true,
  };
  port = 0;
  #key = sshKeyPair();
  #server: ssh2.Server | undefined;
  readonly #connections = new Set<ssh2.Connection>();

  constructor() {
    writePrograms(this.folder, { ...ownSudo, ...gpuPrograms, sudo: atConsole + ownSudo.sudo, usermod });
    writeGpuMachine((file) => this.#path(file), 'h200-1', 2);
    mkdirSync(join(this.home, '.ssh'), { recursive: true, mode: 0o700 });
    mkdirSync(this.#path('etc/sudoers.d'), { recursive: true });
    this.sudo('free');
    this.shell('exec /bin/sh -c "$1"');
  }

  /** Sets what sudo requires: `free`, `tty`, `outsider`, or a password. */
  sudo(requires: string): void {
    writeFileSync(this.#path('sudo'), requires);
  }

  /** Sets the login shell: shell text that gets the command as `$1`. */
  shell(text: string): void {
    writeFileSync(this.#path('shell'), text);
  }

  authorize(publicKey: string): void {
    writeFileSync(join(this.home, '.ssh', 'authorized_keys'), `${publicKey}\n`, { mode: 0o600 });
  }

  /** `ssh-ed25519 AAAA…` */
  get hostKey(): string {
    return this.#key.public.split(' ').slice(0, 2).join(' ');
  }

  async start(): Promise<void> {
    const server = new ssh2.Server({ hostKeys: [this.#key.private] }, (client) => this.#serve(client));
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server?.close(() => resolve()));
    for (const client of this.#connections) client.end();
    await closed;
  }

  /** Replaces its host key. */
  async reinstall(): Promise<void> {
    await this.stop();
    this.#key = sshKeyPair();
    await this.start();
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a command as typed at its console. */
  typed(command: string): Promise<{ readonly code: number; readonly text: string }> {
    return new Promise((resolve) => {
      const moved = command.replaceAll('/etc/', `${this.#path('etc')}/`);
      const child = spawn('/bin/sh', ['-c', moved], { env: { ...this.#env(), CONSOLE: 'tty1' } });
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data: Buffer) => (text += data.toString()));
      child.once('close', (code) => resolve({ code: code ?? 255, text }));
    });
  }

  #serve(client: ssh2.Connection): void {
    const { settings } = this;
    if (settings.hangsUp) return void client.end();
    this.#connections.add(client);
    client.once('close', () => this.#connections.delete(client));
    client.on('error', () => undefined);
    client.on('authentication', (login) =>
      this.#lets(login) ? login.accept() : login.reject(this.#methods),
    );
    let sessions = 0;
    client.on('session', (accept, reject) => {
      sessions += 1;
      if (sessions > settings.maxSessions) {
        reject();
        return;
      }
      const session = accept();
      session.once('close', () => (sessions -= 1));
      session.on('exec', (acceptExec, _reject, { command }) => this.#run(acceptExec(), command));
    });
    client.on('tcpip', (accept, reject, { destIP, destPort }) => {
      if (!settings.forwards) {
        reject();
        return;
      }
      const socket = connect(destPort, destIP);
      socket.once('error', reject);
      socket.once('connect', () => {
        const channel = accept();
        channel.pipe(socket).pipe(channel);
      });
    });
  }

  get #methods(): ssh2.AuthenticationType[] {
    return this.settings.loginPassword === undefined ? ['publickey'] : ['publickey', 'password'];
  }

  #lets(login: ssh2.AuthContext): boolean {
    const { user, loginPassword } = this.settings;
    if (login.username !== user) return false;
    if (login.method === 'password') return login.password === loginPassword;
    if (login.method !== 'publickey') return false;
    const file = join(this.home, '.ssh', 'authorized_keys');
    const keys = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    return keys.some((line) => line.split(' ')[1] === login.key.data.toString('base64'));
  }

  #env() {
    const { SSH_AUTH_SOCK: _agent, ...env } = process.env;
    return { ...env, HOME: this.home, PATH: `${join(this.folder, 'bin')}:${env['PATH'] ?? ''}` };
  }

  #run(channel: ssh2.ServerChannel, command: string): void {
    const args = [
      '-c',
      readFileSync(this.#path('shell'), 'utf8'),
      'login',
      `exec ${join(this.folder, 'bin', 'relocate')}`,
    ];
    const child = spawn('/bin/sh', args, { env: { ...this.#env(), SSH_ORIGINAL_COMMAND: command } });
    child.stdin.on('error', () => undefined);
    channel.pipe(child.stdin);
    child.stdout.pipe(channel, { end: false });
    child.stderr.pipe(channel.stderr, { end: false });
    child.once('close', (code) => {
      channel.exit(code ?? 255);
      channel.end();
    });
    channel.once('close', () => child.kill());
  }

  #path(onHost: string): string {
    return join(this.folder, 'root', onHost);
  }
}

/** The console is a terminal, and the terminal settings of sudoers.d apply. */
const atConsole = `[ -z "$CONSOLE" ] || exec "$@"
if grep -qsx 'Defaults:ann !requiretty' ROOT/etc/sudoers.d/*; then echo free > ROOT/sudo; fi
`;

const usermod = `case $* in
'-aG sudo ann') echo free > ROOT/sudo ;;
'-s /bin/bash ann') echo 'exec /bin/sh -c "$1"' > ROOT/shell ;;
*) exit 6 ;;
esac
`;
