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

/** One authenticated SSH connection. */
export interface Connection {
  /** Opens channels to sockets and to other hosts. */
  readonly ssh: NodeSSH;
  /** The ssh2 client below node-ssh, whose own execCommand gathers all output in memory. */
  readonly client: Client;
  /** What the server calls itself: `OpenSSH_9.2p1`. */
  readonly software: string;
  /** Aborted when the connection is gone, with the reason. */
  readonly closed: AbortSignal;
  close(): void;
  /** At once, whatever the host still has to say. */
  cut(): void;
}

interface ConnectParts {
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

interface Parts {
  readonly options: ConnectionOptions;
  readonly prompter: Prompter;
  readonly turn: PromptTurn;
  /** Called around the question, so that no clock runs while a person thinks. */
  readonly pause: () => () => void;
}

/**
 * Whether the person accepts a new host key: `yes`, or its fingerprint as they know it. Not where nobody can be asked.
 * Throws HungUp while another host is asking.
 */
function askForKey({ options, prompter, turn, pause }: Parts): (key: HostKey) => Promise<boolean> {
  return async ({ type, fingerprint }) => {
    if (!prompter.canAsk) return false;
    turn.begin();
    const resume = pause();
    const text = `${where(options)} shows a new host key, ${type} ${fingerprint}. Accept it (yes, no, or the fingerprint)?`;
    const answer = await prompter.ask({ host: options.name, text, hidden: false }).finally(resume);
    const said = answer?.reveal().trim() ?? '';
    return said.toLowerCase() === 'yes' || said === fingerprint;
  };
}

/** Characters before a server's own line, and of that line, that are looked at: ssh allows 255 in it. */
const longestHead = 8192;
/** Characters of a line that are shown. */
const longestLine = 200;

/** What a server has said first. */
interface Greeting {
  /** What it calls itself in its own line, `dropbear_2022.83`; empty until it has. */
  readonly software: string;
  /** The first line of one that has not, cut short; empty where it said nothing. */
  readonly instead: string;
}

/** Reads along with who reads the stream already. */
export function greetingOf(stream: Readable): () => Greeting {
  let head = '';
  let software = '';
  const hear = (chunk: Buffer): void => {
    head += chunk.subarray(0, longestHead).toString('latin1');
    software = /^SSH-[\d.]+-([\x21-\x7e]*)[ \r\n]/m.exec(head)?.[1] ?? '';
    if (software !== '' || head.length > longestHead) stream.removeListener('data', hear);
  };
  stream.on('data', hear);
  return () => {
    const [first = ''] = head.trim().split(/\r?\n/);
    return { software, instead: /^SSH-/m.test(head) ? '' : first.slice(0, longestLine) };
  };
}

/** Bytes of a connection that are read as fast as they come: facts, a status, the output of nearly every command. */
const atOnce = 1024 * 1024;
/** Bytes after which it is then the other hosts' turn, and milliseconds for that: 12.5 MiB a second at most. */
const portion = 256 * 1024;
const restMs = 20;
/**
 * Bytes that may lie there while nobody reads: the window of a channel is 2 MiB. A jump host that keeps to no window would
 * fill our memory with what it brings.
 */
const mostHeld = 8 * 1024 * 1024;

/**
 * Reads no faster than leaves time for other hosts, however fast one of them sends: what is not read stays in the network,
 * and by its windows with the host. To be called once somebody reads the stream.
 */
export function pace(stream: Readable): void {
  let left = atOnce;
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left > 0 || stream.isPaused()) return;
    left = portion;
    stream.pause();
    setTimeout(() => {
      if (stream.readableLength > mostHeld) stream.destroy(new Error('more was sent than was asked for'));
      else stream.resume();
    }, restMs);
  });
}

/** Calls back once when more bytes than that have come; what it returns ends the watch. */
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
