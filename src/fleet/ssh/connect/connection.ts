import { setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';

import { NodeSSH } from 'node-ssh';
import type { Client } from 'ssh2';

import { FleetError } from '../../../shared/base/errors.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import type { ConnectionOptions } from '../config/options.ts';
import {
  authFailure,
  byHand,
  connectError,
  connectFailure,
  interrupted,
  noSshServer,
  where,
} from '../failures.ts';
import type { Prompter } from '../questions.ts';
import { algorithmsFor } from './algorithms.ts';
import { type Login, startLogin, type PromptTurn, HungUp, type KeyRing } from './authentication.ts';
import { hostKeyOf, type HostKeyStore, type HostKey } from './host-keys.ts';
import type { KnownHostLine } from './known-hosts.ts';

/** One authenticated SSH connection. */
export interface Connection {
  /** Opens channels to sockets and to other hosts. */
  readonly ssh: NodeSSH;
  /** The ssh2 client below node-ssh, whose own execCommand gathers all output in memory. */
  readonly client: Client;
  /** The server's software: `OpenSSH_9.2p1`. */
  readonly software: string;
  /** The key that the host accepted last, `SHA256:…`, or another method; undefined: it accepted the login without any. */
  readonly credential: string | undefined;
  /** Aborted when the connection is closed, with the reason. */
  readonly closed: AbortSignal;
  close(): void;
  /** Ends the connection at once, without reading more from the host. */
  cut(): void;
}

interface ConnectParts {
  readonly options: ConnectionOptions;
  readonly password: SecretSource | undefined;
  readonly keys: KeyRing;
  readonly hostKeys: HostKeyStore;
  /** The host's lines in the known_hosts files, before the connection. */
  readonly lines: readonly KnownHostLine[];
  readonly prompter: Prompter;
  readonly log: Logger;
  /** Shows one line for every new host key that was accepted. */
  readonly notice: (line: string) => void;
  readonly turn: PromptTurn;
  /** It is a jump host, whose bandwidth other hosts share. */
  readonly carries: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Maximum milliseconds for one step of the login; a slow PAM stack needs some. */
const loginStepMs = 60_000;
/** Maximum bytes that a server may send before login: a login takes some thousands. */
const longestLogin = 1024 * 1024;

/** Opens an SSH connection over a stream: key exchange, host key, login. Rejects with a FleetError, or HungUp. */
export async function openConnection(stream: Readable, parts: ConnectParts): Promise<Connection> {
  const { options, lines } = parts;
  const ssh = new NodeSSH();
  const closed = new AbortController();
  setMaxListeners(0, closed.signal);
  const watch = new Deadline((error) => {
    stream.destroy(error);
  });
  const pause = (): (() => void) => watch.pause();
  let refusal: FleetError | HungUp | undefined;
  let greeting: ReturnType<typeof greetingOf> | undefined;
  const stop = (error: FleetError | HungUp): void => {
    refusal = error;
    stream.destroy();
  };
  const login = startLogin({ ...parts, hangUp: stop, pause });
  watch.restart(options.connectTimeoutMs, () => noAnswer(options, options.connectTimeoutMs));
  const abort = (): void => stop(interrupted(options.name));
  parts.signal?.addEventListener('abort', abort, { once: true });
  try {
    const opening = ssh.connect({
      sock: stream,
      username: options.user,
      algorithms: algorithmsFor(options, lines),
      readyTimeout: 0,
      keepaliveInterval: options.aliveIntervalMs,
      keepaliveCountMax: options.aliveCountMax,
      hostVerifier: keyVerifier({ ...parts, pause }, (error) => (refusal = error)),
      authHandler: (left, partial, next) => {
        watch.restart(loginStepMs, () => noAnswer(options, loginStepMs));
        login.handler(left, partial, next);
      },
    });
    greeting = greetingOf(stream);
    const endWatch = watchLength(stream, longestLogin, () => stop(tooMuchOutput(options)));
    if (!parts.carries) pace(stream);
    const client = watchedClient(ssh, parts, closed);
    login.attach(client);
    await opening;
    endWatch();
    const { software } = greeting();
    return connectionOf(ssh, client, stream, {
      software,
      credential: login.accepted(),
      closed: closed.signal,
    });
  } catch (error) {
    ssh.dispose();
    stream.destroy();
    const instead = greeting?.().instead ?? '';
    const cause: unknown = closed.signal.reason ?? error;
    throw (
      refusal ?? watch.reason ?? loginFailure(options, { ...login, missing: login.missing(), instead }, cause)
    );
  } finally {
    watch.end();
    login.end();
    parts.signal?.removeEventListener('abort', abort);
  }
}

/** Returns ssh2's check of the host key. `onRejected` gets the reason for a rejected key. */
function keyVerifier(
  parts: ConnectParts & QuestionParts,
  onRejected: (error: FleetError | HungUp) => void,
): (blob: Buffer, verify: (accepted: boolean) => void) => void {
  const { options, hostKeys, lines, notice } = parts;
  return (blob, verify) => {
    hostKeys
      .check(options, lines, hostKeyOf(blob), askForKey(parts))
      .then((news) => {
        if (news !== undefined) notice(news);
        verify(true);
      })
      .catch((error: unknown) => {
        const isOurs = error instanceof FleetError || error instanceof HungUp;
        onRejected(isOurs ? error : connectFailure(options, error));
        verify(false);
      });
  };
}

/** Returns the client of an opening connection; its errors and its end abort `closed`. */
function watchedClient(
  { connection: client }: NodeSSH,
  { options, log }: ConnectParts,
  closed: AbortController,
): Client {
  if (client === null) throw new Error('node-ssh gave no client');
  // node-ssh drops its error listener once connected; a later reset would end the process.
  client.on('error', (error) => {
    log.log('debug', 'ssh error', { host: options.name, error });
    closed.abort(error);
  });
  client.on('close', () => closed.abort(new Error('connection closed')));
  return client;
}

function connectionOf(
  ssh: NodeSSH,
  client: Client,
  stream: Readable,
  about: Pick<Connection, 'software' | 'credential' | 'closed'>,
): Connection {
  return {
    ssh,
    client,
    ...about,
    close() {
      client.end();
      // The client does not destroy a stream that it has ended itself.
      setTimeout(() => stream.destroy(), 500).unref();
    },
    cut: () => void stream.destroy(),
  };
}

/** Text of an sshd that is full, or blocks an address for a while: then a retry helps. */
const isBusy = /MaxStartups|Not allowed at this time/;

interface LoginAttempts extends Pick<Login, 'tried' | 'leftOut'> {
  readonly missing: readonly string[];
  /** Text that the server sent instead of its SSH version. */
  readonly instead: string;
}

function loginFailure(
  options: ConnectionOptions,
  { tried, leftOut, missing, instead }: LoginAttempts,
  error: unknown,
): FleetError {
  if (error instanceof FleetError) return error;
  if (instead !== '' && tried.length === 0 && !isBusy.test(instead)) return noSshServer(options, instead);
  const { level, message = '' } = error as { level?: string; message?: string };
  const rejected = level === 'client-authentication' || /too many authentication failures/i.test(message);
  return rejected || tried.length > 0
    ? authFailure(options, { tried, leftOut, missing }, error)
    : connectFailure(options, error);
}

function noAnswer(options: ConnectionOptions, limitMs: number): FleetError {
  return connectError(options, {
    code: 'ssh.timeout',
    what: `${options.hostname}:${options.port} accepted the connection, but sent nothing for ${limitMs / 1000} s`,
    expected: 'an SSH server that answers',
    next: `check that the port is right ("port:" in the inventory), and that the machine is not overloaded: ${byHand(options, '-v ')}`,
  });
}

function tooMuchOutput(options: ConnectionOptions): FleetError {
  return connectError(options, {
    code: 'ssh.output-too-long',
    what: `${options.hostname}:${options.port} sent more than ${longestLogin / 1024 / 1024} MiB before login`,
    expected: 'a login of some thousand bytes',
    next: `${byHand(options, '-v ')}   # shows what it says; nothing that runs jobs does that`,
  });
}

/** A time limit that pauses while the user answers a question. */
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

  /** Stops it for good: a question that is answered later starts no limit. */
  end(): void {
    this.stop();
    this.#again = () => undefined;
  }
}

interface QuestionParts {
  readonly options: ConnectionOptions;
  readonly prompter: Prompter;
  readonly turn: PromptTurn;
  /** Called around the question, to pause time limits while the user answers. */
  readonly pause: () => () => void;
}

/**
 * Returns a function that asks the user to accept a new host key: `yes`, or its fingerprint. False without a terminal.
 * Throws HungUp while another host is asking.
 */
function askForKey({ options, prompter, turn, pause }: QuestionParts): (key: HostKey) => Promise<boolean> {
  return async ({ type, fingerprint }) => {
    if (!prompter.canAsk) return false;
    turn.begin();
    const resume = pause();
    const question = `${where(options)} shows a new host key, ${type} ${fingerprint}. Accept it (yes, no, or the fingerprint)?`;
    const answer = await prompter.ask({ host: options.name, text: question, hidden: false }).finally(resume);
    const text = answer?.reveal().trim() ?? '';
    return text.toLowerCase() === 'yes' || text === fingerprint;
  };
}

/** Maximum characters read to find the server's version line, in which ssh allows 255. */
const longestHead = 8192;
/** Maximum characters of a line that are shown. */
const longestLine = 200;

/** The first text of a server. */
interface Greeting {
  /** Its software, from its version line: `dropbear_2022.83`; empty until that has arrived. */
  readonly software: string;
  /** Its first line, cut short, if it is no version line; empty without output. */
  readonly instead: string;
}

/** Reads the greeting of a server, besides the other reader of the stream. */
export function greetingOf(stream: Readable): () => Greeting {
  let head = '';
  let software = '';
  const read = (chunk: Buffer): void => {
    head += chunk.subarray(0, longestHead).toString('latin1');
    software = /^SSH-[\d.]+-([\x21-\x7e]*)[ \r\n]/m.exec(head)?.[1] ?? '';
    if (software !== '' || head.length > longestHead) stream.removeListener('data', read);
  };
  stream.on('data', read);
  return () => {
    const [first = ''] = head.trim().split(/\r?\n/);
    return { software, instead: /^SSH-/m.test(head) ? '' : first.slice(0, longestLine) };
  };
}

/** Bytes of a connection that are read without pauses: enough for facts, a status, and the output of most commands. */
const atOnce = 1024 * 1024;
/** Bytes between two pauses for other hosts, and milliseconds of a pause: at most 12.5 MiB/s. */
const portion = 256 * 1024;
const restMs = 20;
/**
 * Maximum unread bytes: the window of a channel is 2 MiB. A jump host that ignores the window would fill our memory.
 */
const mostHeld = 8 * 1024 * 1024;

/**
 * Limits the speed of reading, so that a fast host leaves time for other hosts: unread data stays in the network and on
 * the host. Call it after the stream has a reader.
 */
export function pace(stream: Readable): void {
  let left = atOnce;
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left > 0 || stream.isPaused()) return;
    left = portion;
    stream.pause();
    setTimeout(() => {
      if (stream.readableLength > mostHeld) stream.destroy(new Error('the host sent more than requested'));
      else stream.resume();
    }, restMs);
  });
}

/** Calls `onMore` once if more bytes than `limit` arrive. Returns a function that ends the watch. */
export function watchLength(stream: Readable, limit: number, onMore: () => void): () => void {
  let left = limit;
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left >= 0) return;
    stop();
    onMore();
  };
  const stop = (): void => void stream.removeListener('data', count);
  stream.on('data', count);
  return stop;
}
