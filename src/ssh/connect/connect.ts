import { setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';

import { NodeSSH } from 'node-ssh';
import type { Client } from 'ssh2';

import { FleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import { algorithmsFor, supportedAlgorithms } from './algorithms.ts';
import type { Prompter } from '../ask.ts';
import { startLogin } from './auth.ts';
import type { ConnectionOptions } from '../config/resolve.ts';
import { authFailure, connectError, connectFailure, interrupted } from '../failures.ts';
import type { PromptTurn, HungUp } from './prompt-turn.ts';
import { hostKeyOf, type HostKeyStore } from '../host-keys/store.ts';
import type { KeyRing } from './keys.ts';

/** One authenticated SSH connection. */
export interface Connection {
  /** Opens channels to sockets and to other hosts. */
  readonly ssh: NodeSSH;
  /** What node-ssh stands on, for running commands: its own execCommand gathers all output in memory. */
  readonly client: Client;
  /** Aborted when the connection is gone, with the reason. */
  readonly closed: AbortSignal;
  close(): void;
}

export interface ConnectParts {
  readonly options: ConnectionOptions;
  readonly password: SecretSource | undefined;
  readonly keys: KeyRing;
  readonly hostKeys: HostKeyStore;
  readonly prompter: Prompter;
  readonly log: Logger;
  /** Told in one line of every new host key that was accepted. */
  readonly notice: (line: string) => void;
  readonly turn: PromptTurn;
  readonly signal: AbortSignal | undefined;
}

/** Milliseconds that the server may take for one step of the login itself; a slow PAM stack needs some. */
const loginStepMs = 60_000;

/** Speaks SSH over an open stream: key exchange, host key, login. Rejects with a FleetError, or HungUp. */
export async function openConnection(stream: Readable, parts: ConnectParts): Promise<Connection> {
  const { options, hostKeys, log } = parts;
  const ssh = new NodeSSH();
  const closed = new AbortController();
  setMaxListeners(0, closed.signal);
  const watch = new Deadline((error) => {
    stream.destroy(error);
  });
  let refusal: FleetError | HungUp | undefined;
  const hangUp = (error: HungUp): void => {
    refusal = error;
    stream.destroy();
  };
  const login = startLogin({ ...parts, hangUp, pause: () => watch.pause() });
  const lines = hostKeys.lines(options);
  watch.restart(options.connectTimeoutMs, () => silent(options));
  const abort = (): void => {
    refusal = interrupted(options.name);
    stream.destroy();
  };
  parts.signal?.addEventListener('abort', abort, { once: true });
  try {
    const opening = ssh.connect({
      sock: stream,
      username: options.user,
      algorithms: algorithmsFor(options, lines, supportedAlgorithms),
      readyTimeout: 0,
      keepaliveInterval: options.aliveIntervalMs,
      keepaliveCountMax: options.aliveCountMax,
      hostVerifier: (blob: Buffer) => {
        try {
          const news = hostKeys.check(options, lines, hostKeyOf(blob));
          if (news !== undefined) parts.notice(news);
          return true;
        } catch (error) {
          refusal = error instanceof FleetError ? error : connectFailure(options, error);
          return false;
        }
      },
      authHandler: (left, partial, next) => {
        watch.restart(loginStepMs, () => silent(options));
        login.handler(left, partial, next);
      },
    });
    const { connection: client } = ssh;
    if (client === null) throw new Error('node-ssh gave no client');
    // node-ssh drops its error listener once connected; a later reset would end the process.
    client.on('error', (error) => {
      log.log('debug', 'ssh error', { host: options.name, error });
      closed.abort(error);
    });
    client.on('close', () => closed.abort(new Error('connection closed')));
    await opening;
    return {
      ssh,
      client,
      closed: closed.signal,
      close() {
        client.end();
        setTimeout(() => client.destroy(), 500).unref();
      },
    };
  } catch (error) {
    ssh.dispose();
    stream.destroy();
    throw refusal ?? watch.reason ?? why(options, login.tried, closed.signal.reason ?? error);
  } finally {
    watch.stop();
    parts.signal?.removeEventListener('abort', abort);
  }
}

function why(options: ConnectionOptions, tried: readonly string[], error: unknown): FleetError {
  const { level, message = '' } = error as { level?: string; message?: string };
  const rejected = level === 'client-authentication' || /too many authentication failures/i.test(message);
  return rejected || tried.length > 0 ? authFailure(options, tried, error) : connectFailure(options, error);
}

function silent(options: ConnectionOptions): FleetError {
  return connectError(options, {
    code: 'ssh.timeout',
    what: `${options.hostname}:${options.port} accepted the connection and then said nothing for ${options.connectTimeoutMs / 1000} s`,
    expected: 'an SSH server that answers',
    next: `ssh -v ${options.port === 22 ? '' : `-p ${options.port} `}${options.user}@${options.typed}   # an overloaded machine, or something else than sshd on that port`,
  });
}

/** One running clock that can wait while a person is asked. */
class Deadline {
  readonly #expire: (error: FleetError) => void;
  #timer: NodeJS.Timeout | undefined;
  #again: () => void = () => undefined;
  reason: FleetError | undefined;

  constructor(expire: (error: FleetError) => void) {
    this.#expire = expire;
  }

  restart(ms: number, error: () => FleetError): void {
    this.#again = () => {
      this.stop();
      if (ms === 0) return;
      this.#timer = setTimeout(() => {
        this.reason = error();
        this.#expire(this.reason);
      }, ms);
    };
    this.#again();
  }

  pause(): () => void {
    this.stop();
    return () => this.#again();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
