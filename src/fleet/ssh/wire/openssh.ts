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
  readonly way: readonly JumpHost[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** ssh may ask at the terminal (passphrase, second factor, a touch of a key). */
  readonly interactive: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Allows only the master's connection: without it ssh would log in again, outside the lock. */
const onlyOver = ['-o', 'ProxyCommand=false', '-o', 'ControlMaster=no'];

/** The system's ssh, one multiplexed connection a host: for certificates, security keys, Kerberos, PKCS#11. */
export async function opensshWire(parts: OpensshParts): Promise<Wire> {
  const { options, env } = parts;
  if (isAborted(parts.signal)) throw interrupted(options.name);
  const folder = mkdtempSync(join(tmpdir(), 'azp-ssh-'));
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
  const control = (...args: string[]): Promise<string> => run([...flags, ...args, '--', options.typed], env);
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
        processOf(
          spawn('ssh', [...onlyOver, ...flags, '-o', 'BatchMode=yes', '--', options.typed, command], { env }),
          isUp,
        ),
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

/** Also for commands over the master's connection. Throws where pins cannot be used: `ssh.pin`. */
function opensshArguments(
  { options, way, interactive }: OpensshParts,
  folder: string,
  socket: string,
): readonly string[] {
  return [
    ...option('ControlPath', socket),
    ...loginArguments(options, way, folder, { asks: interactive, heard: true }),
    ...nothingElse,
    ...option('LogLevel', 'ERROR'),
  ];
}

/** Waits until the master answers on its socket; rejects with what it said when it ends instead. */
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
      reject(wayFailure(parts.options, parts.way, folder) ?? opensshFailure(parts.options, said));
    });
    const check = async (): Promise<void> => {
      const alive = await run([...flags, '-O', 'check', '--', parts.options.typed], parts.env).then(
        () => true,
        () => false,
      );
      if (alive) return resolve();
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

/** `isUp`: the connection is open. */
function processOf(child: ReturnType<typeof spawn>, isUp: () => Promise<boolean>): WireProcess {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('ssh was started without pipes');
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: undefined }));
    child.once('close', (code) => {
      const end = (said: number | null): void => resolve({ code: said, signal: undefined });
      // 255 is ssh's own failure, unless the connection stands and the command really said so.
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
      what: 'the program ssh cannot be started',
      seen: error.message,
      next: 'install the OpenSSH client, or take "transport: openssh" out of the inventory',
    },
    error,
  );
}

/** One option of ssh's configuration. */
const option = (name: string, value: string | number): string[] => ['-o', `${name}=${value}`];

/**
 * The system ssh's arguments for a login: the inventory's values on top of the configuration that ssh reads
 * itself. Only what the inventory or our own defaults say is passed, so that ssh_config keeps its meaning.
 * Pinned keys are written to `pinnedFile`. `timeoutMs`: for the connection and the server's first word; 0: none.
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
          // A connection that stands already was not held to the pin.
          ...option('ControlPath', 'none'),
          // Only where it is set: ssh before 8.5 does not know it.
          ...(options.unsupported.includes('knownhostscommand') ? option('KnownHostsCommand', 'none') : []),
        ]),
  ];
}

/** Connections of ours must not start agents, forwardings or local commands that the configuration asks for. */
const nothingElse: readonly string[] = [
  ...option('ClearAllForwardings', 'yes'),
  ...option('ForwardAgent', 'no'),
  ...option('PermitLocalCommand', 'no'),
  ...option('RemoteCommand', 'none'),
  ...option('RequestTTY', 'no'),
  ...option('EscapeChar', 'none'),
];

function strictness(options: ConnectionOptions): string {
  if (options.pinned.length > 0 || options.hostKeyPolicy === 'strict') return 'yes';
  return options.hostKeyPolicy;
}

/** Pinned keys as a known_hosts file, under the alias that the arguments name. False: none are. */
function writePins(options: ConnectionOptions, file: string): boolean {
  if (options.pinned.length === 0) return false;
  writeFileSync(file, pinnedLines(options, 'pinned', 'transport: openssh'), { mode: 0o600 });
  return true;
}

interface Manner {
  /** Somebody may be asked, at the terminal. */
  readonly asks: boolean;
  /** What the ssh of a jump host says is kept for `wayFailure`; else it goes to the terminal. */
  readonly heard: boolean;
}

/**
 * The system ssh's arguments for a login through jump hosts. Each of them has an ssh of its own with its own arguments:
 * with ProxyJump it would have what its own configuration says, and neither pins nor a policy of the inventory. `folder`,
 * which outlives the login, takes the pinned keys and a script for each jump host.
 */
export function loginArguments(
  options: ConnectionOptions,
  way: readonly JumpHost[],
  folder: string,
  { asks, heard }: Manner,
): string[] {
  const batch = asks ? [] : option('BatchMode', 'yes');
  const patience = [...way.map((hop) => hop.options), options].map(
    ({ connectTimeoutMs }) => connectTimeoutMs,
  );
  for (const [index, { options: hop }] of way.entries()) {
    const flags = [
      ...through(folder, index - 1),
      ...hostArguments(hop, join(folder, `pins-${index}`), inAll(patience.slice(0, index + 1), asks)),
      ...nothingElse,
      ...(heard ? option('LogLevel', 'ERROR') : []),
      ...batch,
    ];
    const program = ['ssh', ...flags].map(quote).join(' ');
    const said = heard ? ` 2>${quote(saidBy(folder, index))}` : '';
    const script = `exec ${program} -W "[$1]:$2" -- ${quote(hop.typed)}${said}\n`;
    writeFileSync(scriptOf(folder, index), script, { mode: 0o600 });
  }
  return [
    ...through(folder, way.length - 1),
    ...hostArguments(options, join(folder, 'pins'), inAll(patience, asks)),
    ...batch,
  ];
}

/** Why the way was not passed, of the first jump host that says so; undefined: none does. */
function wayFailure(
  options: ConnectionOptions,
  way: readonly JumpHost[],
  folder: string,
): FleetError | undefined {
  for (const [index, { options: hop }] of way.entries()) {
    const said = heardFrom(saidBy(folder, index));
    if (said === '') continue;
    const behind = way[index + 1]?.options ?? options;
    if (/stdio forwarding failed/.test(said)) return throughHop(behind, hop, said);
    return opensshFailure(hop, said);
  }
  return undefined;
}

/** What is behind a jump host waits for its login as well, for ever where a person is asked. 0: for ever. */
function inAll(timesMs: readonly number[], asks: boolean): number {
  const waits = timesMs.includes(0) || (asks && timesMs.length > 1);
  return waits ? 0 : timesMs.reduce((sum, ms) => sum + ms, 0);
}

/** Empty where it was not even started. */
function heardFrom(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** Before ProxyJump, or that would count. */
function through(folder: string, index: number): string[] {
  if (index < 0) return [];
  const script = quote(scriptOf(folder, index)).replaceAll('%', '%%');
  return [...option('ProxyCommand', `sh ${script} %h %p`), ...option('ProxyUseFdpass', 'no')];
}

const scriptOf = (folder: string, index: number): string => join(folder, `hop-${index}`);
const saidBy = (folder: string, index: number): string => join(folder, `said-${index}`);

/** What the system's ssh said on stderr, as one of our errors. */
export function opensshFailure(options: ConnectionOptions, said: string): FleetError {
  const seen = said.trim().split('\n').slice(-6).join('\n');
  const asSocket = (code: string): FleetError =>
    connectFailure(options, Object.assign(new Error(lastLine(seen)), { code }));
  const isChanged = /host key .*has changed|REMOTE HOST IDENTIFICATION HAS CHANGED/i.test(said);
  const isRefused = /host key verification failed|no .* host key is known/i.test(said);
  if (options.pinned.length > 0 && (isChanged || isRefused)) {
    // ssh's own advice names a file of ours, which is gone by now.
    return connectError(options, {
      code: 'ssh.host-key-mismatch',
      what: `the host key of ${options.name} is not the one pinned in the inventory`,
      expected: options.pinned.join(', '),
      seen: shownKey(said) ?? lastLine(seen),
      next: `compare with the key at the machine's console, then: azp-fleet trust ${options.name}`,
    });
  }
  if (isChanged) {
    // Nothing else of what was said may end up in a command that somebody pastes.
    const remove = /^ *(ssh-keygen -f (["'])[\w@%+=:,. /-]+\2 -R (["'])[\w[\]:.-]+\3) *\r?$/m.exec(said)?.[1];
    return connectError(options, {
      code: 'ssh.host-key-mismatch',
      what: `the host key of ${options.hostname} is not the one on file: the machine was reinstalled, or another one answers in its place`,
      seen: shownKey(said) ?? lastLine(seen),
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
  if (/permission denied|too many authentication failures/i.test(said)) {
    return authFailure(options, { tried: [`what the system's ssh tries (${lastLine(seen)})`] });
  }
  if (/could not resolve hostname/i.test(said)) return asSocket('ENOTFOUND');
  if (/connection refused/i.test(said)) return asSocket('ECONNREFUSED');
  if (/timed out/i.test(said)) return asSocket('ETIMEDOUT');
  if (/no route to host|network is unreachable/i.test(said)) return asSocket('EHOSTUNREACH');
  if (/no matching|unable to negotiate/i.test(said)) {
    return connectError(options, {
      code: 'ssh.handshake',
      what: `no common algorithms with ${options.hostname}:${options.port}`,
      seen,
      next: `${byHand(options, '-v ')}   # shows what either side offers`,
    });
  }
  return connectFailure(options, new Error(seen || 'ssh ended without a word'));
}

function shownKey(said: string): string | undefined {
  return /SHA256:\S+/.exec(said)?.[0]?.replace(/\.$/, '');
}

function lastLine(text: string): string {
  return text.split('\n').at(-1) ?? '';
}
