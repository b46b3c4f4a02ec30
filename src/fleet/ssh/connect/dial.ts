import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as tcpConnect } from 'node:net';
import { Duplex, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import { FleetError } from '../../../shared/base/errors.ts';
import { foreignLines } from '../../../shared/base/foreign-text.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import type { JumpHost } from '../config/jump-hosts.ts';
import type { ConnectionOptions } from '../config/options.ts';
import { connectFailure, interrupted, throughHop, connectError } from '../failures.ts';
import type { Prompter } from '../questions.ts';
import { PromptTurn, PromptQueue, HungUp, type KeyRing } from './authentication.ts';
import { type Connection, openConnection } from './connection.ts';
import type { HostKeyStore } from './host-keys.ts';

/** Handshakes at the same time; each costs about 12 ms of one core here and some memory. */
const maxHandshakes = 64;
/** The same through one jump host. */
const maxThroughHop = 8;
/** Attempts when the server drops us before the login (MaxStartups does that at random under load). */
const maxAttempts = 8;

interface DialerParts {
  /** The jump hosts before a host, in the order they are passed. */
  readonly jumpHostsTo: (options: ConnectionOptions) => Promise<readonly JumpHost[]>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keys: KeyRing;
  readonly hostKeys: HostKeyStore;
  readonly prompter: Prompter;
  readonly log: Logger;
  readonly notice: (line: string) => void;
}

interface Hop {
  readonly connection: Promise<Connection>;
  readonly limit: LimitFunction;
}

/** A login to make. */
interface Login extends JumpHost {
  readonly way: readonly JumpHost[];
  /** Others are reached through it. */
  readonly isHop: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Makes connections with the built-in client: directly, through a command, or through jump hosts that are shared. */
export class Dialer {
  readonly #parts: DialerParts;
  readonly #handshakes = pLimit(maxHandshakes);
  readonly #prompts = new PromptQueue();
  readonly #hops = new Map<string, Hop>();

  constructor(parts: DialerParts) {
    this.#parts = parts;
  }

  /** Closes the connections to jump hosts. */
  close(): void {
    const hops = [...this.#hops.values()];
    this.#hops.clear();
    for (const hop of hops) hop.connection.then((connection) => connection.close()).catch(() => undefined);
  }

  /** Dials and logs in; again, a little later each time, when the server drops us before the login. */
  async connect(
    options: ConnectionOptions,
    loginPassword: SecretSource | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Connection> {
    const way = await this.#parts.jumpHostsTo(options);
    return this.#connect({ options, loginPassword, way, isHop: false, signal });
  }

  /** The bytes' way to a host: TCP, a command, or a channel of a jump host. */
  async stream(options: ConnectionOptions, signal: AbortSignal | undefined): Promise<Duplex> {
    return this.#stream(options, await this.#parts.jumpHostsTo(options), signal);
  }

  async #connect(login: Login): Promise<Connection> {
    const { options, way, isHop, signal } = login;
    for (let attempt = 1; ; attempt += 1) {
      try {
        signal?.throwIfAborted();
        const direct = isHop ? pLimit(1) : this.#handshakes;
        const limit = way.length === 0 ? direct : (await this.#hop(way, signal)).limit;
        return await limit(async () => this.#once(login));
      } catch (error) {
        if (signal?.aborted === true) throw interrupted(options.name);
        const { code, host } = error instanceof FleetError ? error.problem : {};
        const dropped = code === 'ssh.connection-lost' && host === options.name;
        if (!dropped || attempt === maxAttempts) throw error;
        this.#parts.log.log('debug', 'dropped before login, trying again', { host: options.name, attempt });
        await sleep(attempt * 150 + Math.random() * 600);
      }
    }
  }

  async #once({ options, loginPassword: password, way, isHop, signal }: Login): Promise<Connection> {
    const { keys, hostKeys, prompter, log, notice } = this.#parts;
    const turn = new PromptTurn(isHop ? undefined : this.#prompts);
    const parts = { options, password, keys, hostKeys, prompter, log, notice, turn, carries: isHop, signal };
    try {
      for (;;) {
        try {
          return await openConnection(await this.#stream(options, way, signal), parts);
        } catch (error) {
          if (!(error instanceof HungUp)) throw error;
        }
        await turn.wait();
        signal?.throwIfAborted();
      }
    } finally {
      turn.end();
    }
  }

  async #stream(
    options: ConnectionOptions,
    way: readonly JumpHost[],
    signal: AbortSignal | undefined,
  ): Promise<Duplex> {
    try {
      return await this.#dial(options, way, signal);
    } catch (error) {
      throw connectFailure(options, error);
    }
  }

  async #dial(
    options: ConnectionOptions,
    way: readonly JumpHost[],
    signal: AbortSignal | undefined,
  ): Promise<Duplex> {
    const { proxyCommand } = options;
    if (proxyCommand !== undefined) return dialCommand({ ...options, proxyCommand }, this.#parts.env);
    const hop = way.at(-1);
    if (hop === undefined) return dialTcp(options, signal);
    const { ssh } = await (await this.#hop(way, signal)).connection;
    try {
      return await ssh.forwardOut('127.0.0.1', 0, options.hostname, options.port);
    } catch (error) {
      throw throughHop(options, hop.options, error);
    }
  }

  /** The connection to the last host of a way, shared by all that go through it by the same rules. */
  async #hop(way: readonly JumpHost[], signal: AbortSignal | undefined): Promise<Hop> {
    const key = JSON.stringify(way.map(({ options }) => ({ ...options, handsOn: undefined })));
    const known = this.#hops.get(key);
    if (known !== undefined) return known;
    const last = way.at(-1);
    if (last === undefined) throw new TypeError('a way without a jump host');
    const connection = this.#connect({ ...last, way: way.slice(0, -1), isHop: true, signal });
    const hop = { connection, limit: pLimit(maxThroughHop) };
    this.#hops.set(key, hop);
    const forget = (): void => void this.#hops.delete(key);
    connection.then(({ closed }) => closed.addEventListener('abort', forget, { once: true }), forget);
    await connection.catch(() => undefined);
    return hop;
  }
}

/** A TCP connection. Rejects with the socket's error, or ETIMEDOUT after the given time. */
function dialTcp(options: ConnectionOptions, signal: AbortSignal | undefined): Promise<Duplex> {
  const { hostname: host, port, family, bindAddress, connectTimeoutMs } = options;
  return new Promise((resolve, reject) => {
    const socket = tcpConnect({
      host,
      port,
      noDelay: true,
      ...(family === undefined ? {} : { family }),
      ...(bindAddress === undefined ? {} : { localAddress: bindAddress }),
    });
    const timer = connectTimeoutMs === 0 ? undefined : setTimeout(() => fail(timeout()), connectTimeoutMs);
    const abort = (): void => fail(signal?.reason as Error);
    const fail = (error: Error): void => {
      clean();
      socket.destroy();
      reject(error);
    };
    const clean = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.removeListener('error', fail);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      clean();
      resolve(socket);
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function timeout(): Error {
  return Object.assign(new Error('no answer to the TCP connection request'), { code: 'ETIMEDOUT' });
}

/** Characters of what a ProxyCommand says that are kept: its last words. */
const mostSaid = 2_000;
/** Milliseconds for it to end after its output has: something that it started may hold on. */
const endMs = 1_000;
/** OpenSSH's own words for a connection that was cut early: another attempt may do, as with a direct connection. */
const cut = /kex_exchange_identification|ssh_exchange_identification|Connection (closed|reset) by/;

/**
 * A ProxyCommand's standard input and output as one stream; the command ends with it. It runs by the user's shell, as with
 * ssh. One that ends badly before it has passed a byte fails with what it said: `ssh.proxy-command`, or
 * `ssh.connection-lost` where that may pass.
 */
function dialCommand(
  options: ConnectionOptions & { readonly proxyCommand: string },
  env: Readonly<Record<string, string | undefined>>,
): Duplex {
  const shell = env['SHELL'] || '/bin/sh';
  const child = spawn(shell, ['-c', `exec ${options.proxyCommand}`], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env,
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-mostSaid);
  });
  const ended = once(child, 'close').catch((error: unknown) => {
    said = error instanceof Error ? error.message : String(error);
  });
  const output = async function* (): AsyncGenerator<Buffer> {
    let passed = false;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      passed = true;
      yield chunk;
    }
    await Promise.race([ended, sleep(endMs, undefined, { ref: false })]);
    const { exitCode, signalCode } = child;
    if (!passed && (said !== '' || exitCode !== 0)) throw failed(options, said, exitCode ?? signalCode);
  };
  // Writing to a command that has ended is no failure of its own: its output ends as well, and why is told there.
  child.stdin.on('error', () => undefined);
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(() => done()),
  });
  const stream = Duplex.from({ readable: output(), writable: input });
  stream.once('close', () => child.kill());
  return stream;
}

function failed(options: ConnectionOptions, said: string, end: number | string | null): Error {
  const seen = foreignLines(said, mostSaid).trim();
  return connectError(options, {
    code: cut.test(said) ? 'ssh.connection-lost' : 'ssh.proxy-command',
    what: `the ProxyCommand for ${options.hostname}:${options.port} ended before it had connected`,
    expected: 'an SSH server at its other end',
    seen: seen === '' ? `it said nothing (${end === null ? 'no exit code' : `ended with ${end}`})` : seen,
    next: `run it by hand: ${options.proxyCommand ?? ''}`,
  });
}
