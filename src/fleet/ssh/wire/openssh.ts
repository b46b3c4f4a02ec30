import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

import { usageError } from '../../../shared/base/errors.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import type { JumpHost } from '../config/way.ts';
import { interrupted } from '../failures.ts';
import { usualChannels } from './channels.ts';
import { nothingElse, option } from './openssh-arguments.ts';
import { opensshFailure } from './openssh-failure.ts';
import { loginArguments, wayFailure } from './openssh-way.ts';
import type { Ending, Wire, WireProcess } from './wire.ts';

export interface OpensshParts {
  readonly options: ConnectionOptions;
  readonly way: readonly JumpHost[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** ssh may ask at the terminal (passphrase, second factor, a touch of a key). */
  readonly interactive: boolean;
  readonly signal: AbortSignal | undefined;
}

/** No other way than the master's connection: without it ssh would log in anew, beside the lock and unseen. */
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

/** `isUp`: the connection stands. */
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
