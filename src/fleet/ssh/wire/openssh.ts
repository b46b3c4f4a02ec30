import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync, existsSync, readFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

import { usageError, type FleetError } from '../../../shared/base/errors.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { JumpHost } from '../config/jump-hosts.ts';
import type { ConnectionOptions } from '../config/options.ts';
import { pinnedLines } from '../connect/host-keys.ts';
import {
  interrupted,
  throughHop,
  authFailure,
  byHand,
  connectError,
  connectFailure,
  reviewKey,
} from '../failures.ts';
import { usualChannels, type Ending, type Wire, type WireProcess } from './wire.ts';

interface OpensshParts {
  readonly options: ConnectionOptions;
  readonly jumps: readonly JumpHost[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** ssh may ask at the terminal (passphrase, second factor, touch of a key). */
  readonly interactive: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Returns an option of ssh_config as arguments. */
const option = (name: string, value: string | number): string[] => ['-o', `${name}=${value}`];

/** With another value of the configuration, ssh would ignore the master's socket and log in again, outside the lock. */
const notMaster = option('ControlMaster', 'no');

/** Opens a Wire over the system's ssh, multiplexed: for certificates, security keys, Kerberos, PKCS#11. */
export async function opensshWire(parts: OpensshParts): Promise<Wire> {
  const { options, env } = parts;
  if (isAborted(parts.signal)) throw interrupted(options.name);
  const folder = mkdtempSync(join(socketBase(tmpdir()), 'azp-ssh-'));
  const closed = new AbortController();
  setMaxListeners(0, closed.signal);
  const socket = join(folder, 's');
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  let flags: readonly string[];
  try {
    flags = opensshArguments(parts, folder, socket);
  } catch (error) {
    remove();
    throw error;
  }
  const master = spawn(
    'ssh',
    [...flags, '-o', 'ControlMaster=yes', '-o', 'ControlPersist=no', '-N', '--', options.typed],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
    },
  );
  const opened = connected(master, flags, parts, folder);
  master.once('close', () => {
    closed.abort(new Error('ssh ended'));
    remove();
  });
  const stop = (): void => void master.kill();
  parts.signal?.addEventListener('abort', stop, { once: true });
  try {
    await opened;
  } catch (error) {
    throw isAborted(parts.signal) ? interrupted(options.name) : error;
  } finally {
    parts.signal?.removeEventListener('abort', stop);
  }
  const control = (...args: string[]): Promise<string> =>
    run([...notMaster, ...flags, ...args, '--', options.typed], env);
  const commandFlags = [
    ...notMaster,
    // Only over the master's connection.
    ...option('ProxyCommand', 'false'),
    ...(options.ofSsh.has('sessiontype') ? option('SessionType', 'default') : []),
    ...flags,
    ...option('BatchMode', 'yes'),
  ];
  const isUp = (): Promise<boolean> =>
    control('-O', 'check').then(
      () => true,
      () => false,
    );
  let forwards = 0;
  return {
    closed: closed.signal,
    channels: usualChannels,
    exec: (command) =>
      Promise.resolve(
        processOf(spawn('ssh', [...commandFlags, '--', options.typed, command], { env }), isUp),
      ),
    async openSocket(path) {
      forwards += 1;
      const local = join(folder, `f${forwards}`);
      const forward = `${local}:${path}`;
      await control('-o', 'ClearAllForwardings=no', '-O', 'forward', '-L', forward);
      const stream = await reach(local);
      stream.once('close', () => void control('-O', 'cancel', '-L', forward).catch(() => undefined));
      return stream;
    },
    async close() {
      if (closed.signal.aborted) return;
      const gone = new Promise((resolve) => void master.once('close', resolve));
      await control('-O', 'exit').catch(() => master.kill());
      await gone;
    },
    cut: stop,
  };
}

/** Returns ssh's arguments, also for commands over the master's connection. Throws `ssh.pin` for fingerprints. */
function opensshArguments(
  { options, jumps, interactive }: OpensshParts,
  folder: string,
  socket: string,
): readonly string[] {
  return [
    ...option('ControlPath', socket),
    ...loginArguments(options, jumps, folder, { asks: interactive, keepsErrors: true }),
    ...nothingElse(options),
    ...option('LogLevel', 'ERROR'),
  ];
}

/** Bytes of a socket's path: macOS has 104 with the final zero, Linux 108. */
const longestSocket = 103;
/** Characters after the temporary folder: ours, and those that ssh appends while it creates its socket. */
const socketSuffix = '/azp-ssh-XXXXXX/s'.length + '.XXXXXXXXXXXXXXXX'.length;

/** Returns the folder for sockets: the temporary folder, or /tmp if paths in it would be too long. */
function socketBase(temporary: string): string {
  return Buffer.byteLength(temporary) + socketSuffix > longestSocket ? '/tmp' : temporary;
}

/** Waits until the master answers on its socket; rejects with its stderr if it exits. */
function connected(
  master: ChildProcess,
  flags: readonly string[],
  parts: OpensshParts,
  folder: string,
): Promise<void> {
  let said = '';
  master.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-8192);
  });
  return new Promise((resolve, reject) => {
    let over = false;
    master.once('error', (error) => {
      over = true;
      reject(noSsh(error));
    });
    master.once('close', () => {
      over = true;
      reject(jumpFailure(parts.options, parts.jumps, folder) ?? opensshFailure(parts.options, said));
    });
    const check = async (): Promise<void> => {
      const isUp = await run(
        [...notMaster, ...flags, '-O', 'check', '--', parts.options.typed],
        parts.env,
      ).then(
        () => true,
        () => false,
      );
      if (isUp) return resolve();
      if (!over) setTimeout(() => void check(), 50);
    };
    void check();
  });
}

function run(args: readonly string[], env: OpensshParts['env']): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('ssh', args, { env }, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });
}

function reach(path: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const stream = connectSocket(path);
    stream.once('error', reject);
    stream.once('connect', () => resolve(stream));
  });
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** Wraps a child process. `isUp`: whether the connection is open. */
function processOf(child: ReturnType<typeof spawn>, isUp: () => Promise<boolean>): WireProcess {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('ssh was started without pipes');
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: undefined }));
    child.once('close', (code) => {
      const end = (exitCode: number | null): void => resolve({ code: exitCode, signal: undefined });
      // 255 is ssh's own failure, unless the connection is open and the command returned it.
      if (code !== 255) end(code);
      else void isUp().then((up) => end(up ? code : null));
    });
  });
  return { stdin, stdout, stderr, ended, kill: () => void child.kill() };
}

function noSsh(error: Error): Error {
  return usageError(
    {
      code: 'ssh.no-openssh',
      what: 'ssh cannot be started',
      seen: error.message,
      next: 'install the OpenSSH client, or remove "transport: openssh" from the inventory',
    },
    error,
  );
}

/**
 * Returns arguments of the system's ssh for a login: only values of the inventory and our defaults, which override the
 * configuration that ssh reads itself. Writes pinned keys to `pinnedFile`. `timeoutMs`: for the connection and the
 * server's greeting; 0: none.
 */
function hostArguments(options: ConnectionOptions, pinnedFile: string, timeoutMs: number): string[] {
  return [
    ...options.arguments,
    ...option('ConnectTimeout', Math.ceil(timeoutMs / 1000)),
    ...option('ServerAliveInterval', Math.ceil(options.aliveIntervalMs / 1000)),
    ...option('ServerAliveCountMax', options.aliveCountMax),
    ...option('StrictHostKeyChecking', strictness(options)),
    ...(!writePins(options, pinnedFile)
      ? []
      : [
          ...option('UserKnownHostsFile', pinnedFile),
          ...option('GlobalKnownHostsFile', 'none'),
          ...option('HostKeyAlias', 'pinned'),
          ...option('VerifyHostKeyDNS', 'no'),
          // An existing shared connection was not checked against the pin.
          ...option('ControlPath', 'none'),
          // Only if it is set: ssh before 8.5 does not support it.
          ...(options.ofSsh.has('knownhostscommand') ? option('KnownHostsCommand', 'none') : []),
        ]),
  ];
}

/** Disables agents, forwardings, local commands and other effects of the configuration. */
function nothingElse({ ofSsh }: ConnectionOptions): string[] {
  // Set only where they matter: ssh before 8.7 does not support some of them.
  const rest = ['Tunnel', 'ForkAfterAuthentication', 'StdinNull'].filter((name) =>
    ofSsh.has(name.toLowerCase()),
  );
  return [
    ...option('ClearAllForwardings', 'yes'),
    ...option('ForwardAgent', 'no'),
    ...option('ForwardX11', 'no'),
    ...option('PermitLocalCommand', 'no'),
    ...option('RemoteCommand', 'none'),
    ...option('RequestTTY', 'no'),
    ...option('EscapeChar', 'none'),
    ...rest.flatMap((name) => option(name, 'no')),
  ];
}

function strictness(options: ConnectionOptions): string {
  if (options.pinned.length > 0 || options.hostKeyPolicy === 'strict') return 'yes';
  return options.hostKeyPolicy;
}

/** Writes pinned keys as a known_hosts file, under the alias of the arguments. Returns whether there are any. */
function writePins(options: ConnectionOptions, file: string): boolean {
  if (options.pinned.length === 0) return false;
  writeFileSync(file, pinnedLines(options, 'pinned', 'transport: openssh'), { mode: 0o600 });
  return true;
}

interface LoginMode {
  /** ssh may ask at the terminal. */
  readonly asks: boolean;
  /** Keeps the stderr of jump hosts for `jumpFailure`, instead of the terminal. */
  readonly keepsErrors: boolean;
}

/**
 * Returns arguments of the system's ssh for a login through jump hosts. Each jump host has a separate ssh process with
 * its own arguments: with ProxyJump, ssh would ignore the pins and policies of the inventory. `folder`, which must
 * outlive the login, gets the pinned keys and a script for each jump host.
 */
export function loginArguments(
  options: ConnectionOptions,
  jumps: readonly JumpHost[],
  folder: string,
  { asks, keepsErrors }: LoginMode,
): string[] {
  const batch = asks ? [] : option('BatchMode', 'yes');
  const timeoutsMs = [...jumps.map((hop) => hop.options), options].map(
    ({ connectTimeoutMs }) => connectTimeoutMs,
  );
  for (const [index, { options: hop }] of jumps.entries()) {
    const flags = [
      ...through(folder, index - 1),
      ...hostArguments(
        hop,
        join(folder, `pins-${index}`),
        totalTimeout(timeoutsMs.slice(0, index + 1), asks),
      ),
      ...nothingElse(hop),
      // The socket of the user's configuration may serve the hop, but the hop is no master: it would outlive us.
      ...notMaster,
      ...(keepsErrors ? option('LogLevel', 'ERROR') : []),
      ...batch,
    ];
    const program = ['ssh', ...flags].map(quote).join(' ');
    const redirect = keepsErrors ? ` 2>${quote(errorsOf(folder, index))}` : '';
    const script = `exec ${program} -W "[$1]:$2" -- ${quote(hop.typed)}${redirect}\n`;
    writeFileSync(scriptOf(folder, index), script, { mode: 0o600 });
  }
  return [
    ...through(folder, jumps.length - 1),
    ...hostArguments(options, join(folder, 'pins'), totalTimeout(timeoutsMs, asks)),
    ...batch,
  ];
}

/** Returns the error of the first jump host that failed; undefined if none did. */
function jumpFailure(
  options: ConnectionOptions,
  jumps: readonly JumpHost[],
  folder: string,
): FleetError | undefined {
  for (const [index, { options: hop }] of jumps.entries()) {
    const stderr = textOf(errorsOf(folder, index));
    if (stderr === '') continue;
    const behind = jumps[index + 1]?.options ?? options;
    if (/stdio forwarding failed/.test(stderr)) return throughHop(behind, hop, stderr);
    return opensshFailure(hop, stderr);
  }
  return undefined;
}

/** Returns the time limit of a login, which includes those of its jump hosts. 0 (none) if the user may be asked. */
function totalTimeout(timesMs: readonly number[], asks: boolean): number {
  const waits = timesMs.includes(0) || (asks && timesMs.length > 1);
  return waits ? 0 : timesMs.reduce((sum, ms) => sum + ms, 0);
}

/** Returns the text of a file; empty if there is none. */
function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** Returns the ProxyCommand for a jump host; put it before ProxyJump, which it overrides. */
function through(folder: string, index: number): string[] {
  if (index < 0) return [];
  const script = quote(scriptOf(folder, index)).replaceAll('%', '%%');
  return [...option('ProxyCommand', `sh ${script} %h %p`), ...option('ProxyUseFdpass', 'no')];
}

const scriptOf = (folder: string, index: number): string => join(folder, `hop-${index}`);
const errorsOf = (folder: string, index: number): string => join(folder, `said-${index}`);

/** Turns stderr of the system's ssh into an error. */
export function opensshFailure(options: ConnectionOptions, stderr: string): FleetError {
  const seen = stderr.trim().split('\n').slice(-6).join('\n');
  const asSocket = (code: string): FleetError =>
    connectFailure(options, Object.assign(new Error(lastLine(seen)), { code }));
  const isChanged = /host key .*has changed|REMOTE HOST IDENTIFICATION HAS CHANGED/i.test(stderr);
  const isRefused = /host key verification failed|no .* host key is known/i.test(stderr);
  if (options.pinned.length > 0 && (isChanged || isRefused)) {
    // ssh's own advice names a temporary file, which no longer exists.
    return connectError(options, {
      code: 'ssh.host-key-mismatch',
      what: `the host key of ${options.name} is not the one pinned in the inventory`,
      expected: options.pinned.join(', '),
      seen: shownKey(stderr) ?? lastLine(seen),
      next: `compare with the key at the machine's console, then: azp-fleet trust ${options.name}`,
    });
  }
  if (isChanged) {
    // No other output may become part of a command that the user pastes.
    const remove = /^ *(ssh-keygen -f (["'])[\w@%+=:,. /-]+\2 -R (["'])[\w[\]:.-]+\3) *\r?$/m.exec(
      stderr,
    )?.[1];
    return connectError(options, {
      code: 'ssh.host-key-mismatch',
      what: `the host key of ${options.hostname} is not the one on file: the machine was reinstalled, or another machine answers`,
      seen: shownKey(stderr) ?? lastLine(seen),
      next: `compare the fingerprint at the machine's console, then: ${remove ?? `ssh-keygen -R ${options.hostname}`}`,
    });
  }
  if (isRefused) {
    return connectError(options, {
      code: 'ssh.host-key-unknown',
      what: `ssh does not accept the host key of ${options.hostname}`,
      seen,
      next: reviewKey(options),
    });
  }
  if (/permission denied|too many authentication failures/i.test(stderr)) {
    return authFailure(options, { tried: [`what the system's ssh tries (${lastLine(seen)})`] });
  }
  if (/could not resolve hostname/i.test(stderr)) return asSocket('ENOTFOUND');
  if (/connection refused/i.test(stderr)) return asSocket('ECONNREFUSED');
  if (/timed out/i.test(stderr)) return asSocket('ETIMEDOUT');
  if (/no route to host|network is unreachable/i.test(stderr)) return asSocket('EHOSTUNREACH');
  if (/no matching|unable to negotiate/i.test(stderr)) {
    return connectError(options, {
      code: 'ssh.handshake',
      what: `no common algorithms with ${options.hostname}:${options.port}`,
      seen,
      next: `${byHand(options, '-v ')}   # shows what either side offers`,
    });
  }
  return connectFailure(options, new Error(seen || 'ssh exited without output'));
}

function shownKey(stderr: string): string | undefined {
  return /SHA256:\S+/.exec(stderr)?.[0]?.replace(/\.$/, '');
}

function lastLine(text: string): string {
  return text.split('\n').at(-1) ?? '';
}
