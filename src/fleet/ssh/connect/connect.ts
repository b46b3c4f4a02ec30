import { setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';

import { NodeSSH } from 'node-ssh';
import type { Client } from 'ssh2';

import { FleetError } from '../../../shared/base/errors.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import { algorithmsFor } from './algorithms.ts';
import type { Prompter } from '../ask.ts';
import { type Login, startLogin } from './auth.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { authFailure, byHand, connectError, connectFailure, interrupted, noSshServer } from '../failures.ts';
import { askForKey } from './ask-for-key.ts';
import { type PromptTurn, HungUp } from './prompt-turn.ts';
import { hostKeyOf, type HostKeyStore } from '../host-keys/store.ts';
import type { KeyRing } from './keys.ts';
import { pace, watchLength } from './pace.ts';
import { greetingOf } from './software.ts';

/** One authenticated SSH connection. */
export interface Connection {
  /** Opens channels to sockets and to other hosts. */
  readonly ssh: NodeSSH;
  /** What node-ssh stands on, for running commands: its own execCommand gathers all output in memory. */
  readonly client: Client;
  /** What the server calls itself: `OpenSSH_9.2p1`. */
  readonly software: string;
  /** Aborted when the connection is gone, with the reason. */
  readonly closed: AbortSignal;
  close(): void;
  /** At once, whatever the host still has to say. */
  cut(): void;
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
  /** Other hosts are reached through it: they share what it brings. */
  readonly carries: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Milliseconds that the server may take for one step of the login itself; a slow PAM stack needs some. */
const loginStepMs = 60_000;
/** Bytes that a server may send before anybody is logged in: a login takes some thousands. */
const longestLogin = 1024 * 1024;

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
  let greeting: ReturnType<typeof greetingOf> | undefined;
  const hangUp = (error: HungUp): void => {
    refusal = error;
    stream.destroy();
  };
  const login = startLogin({ ...parts, hangUp, pause: () => watch.pause() });
  const lines = hostKeys.lines(options);
  const algorithms = algorithmsFor(options, lines);
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
      algorithms,
      readyTimeout: 0,
      keepaliveInterval: options.aliveIntervalMs,
      keepaliveCountMax: options.aliveCountMax,
      hostVerifier: (blob: Buffer, verify: (accepted: boolean) => void) => {
        const asked = askForKey({ ...parts, pause: () => watch.pause() });
        hostKeys
          .check(options, lines, hostKeyOf(blob), asked)
          .then((news) => {
            if (news !== undefined) parts.notice(news);
            verify(true);
          })
          .catch((error: unknown) => {
            refusal =
              error instanceof FleetError || error instanceof HungUp ? error : connectFailure(options, error);
            verify(false);
          });
      },
      authHandler: (left, partial, next) => {
        watch.restart(loginStepMs, () => silent(options));
        login.handler(left, partial, next);
      },
    });
    greeting = greetingOf(stream);
    const isLoggedIn = watchLength(stream, longestLogin, () => {
      refusal = tooTalkative(options);
      stream.destroy();
    });
    if (!parts.carries) pace(stream);
    const { connection: client } = ssh;
    if (client === null) throw new Error('node-ssh gave no client');
    // node-ssh drops its error listener once connected; a later reset would end the process.
    client.on('error', (error) => {
      log.log('debug', 'ssh error', { host: options.name, error });
      closed.abort(error);
    });
    client.on('close', () => closed.abort(new Error('connection closed')));
    await opening;
    isLoggedIn();
    return {
      ssh,
      client,
      software: greeting().software,
      closed: closed.signal,
      close() {
        client.end();
        // Not the client's own: it leaves a stream that it has ended itself to the other side.
        setTimeout(() => stream.destroy(), 500).unref();
      },
      cut: () => void stream.destroy(),
    };
  } catch (error) {
    ssh.dispose();
    stream.destroy();
    const instead = greeting?.().instead ?? '';
    throw refusal ?? watch.reason ?? why(options, { ...login, instead }, closed.signal.reason ?? error);
  } finally {
    watch.stop();
    parts.signal?.removeEventListener('abort', abort);
  }
}

/** sshd says in plain words that it has no room, or bars an address for a while; then trying again helps. */
const turnedAway = /MaxStartups|Not allowed at this time/;

interface Course extends Login {
  /** What the server said in place of its name. */
  readonly instead: string;
}

function why(options: ConnectionOptions, { tried, leftOut, instead }: Course, error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  if (instead !== '' && tried.length === 0 && !turnedAway.test(instead)) return noSshServer(options, instead);
  const { level, message = '' } = error as { level?: string; message?: string };
  const rejected = level === 'client-authentication' || /too many authentication failures/i.test(message);
  return rejected || tried.length > 0
    ? authFailure(options, { tried, leftOut }, error)
    : connectFailure(options, error);
}

function silent(options: ConnectionOptions): FleetError {
  return connectError(options, {
    code: 'ssh.timeout',
    what: `${options.hostname}:${options.port} accepted the connection and then said nothing for ${options.connectTimeoutMs / 1000} s`,
    expected: 'an SSH server that answers',
    next: `check that the port is right ("port:" in the inventory), and that the machine is not overloaded: ${byHand(options, '-v ')}`,
  });
}

function tooTalkative(options: ConnectionOptions): FleetError {
  return connectError(options, {
    code: 'ssh.output-too-long',
    what: `${options.hostname}:${options.port} sent more than ${longestLogin / 1024 / 1024} MiB before anybody was logged in`,
    expected: 'a login, which takes some thousand bytes',
    next: `${byHand(options, '-v ')}   # shows what it says; nothing that runs jobs does that`,
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
