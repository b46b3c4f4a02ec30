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

/** Maximum handshakes at a time; each costs about 12 ms of a core and some memory. */
const maxHandshakes = 64;
/** Maximum handshakes through one jump host. */
const maxThroughHop = 8;
/** Attempts if the server drops a connection before login (MaxStartups does so at random under load). */
const maxAttempts = 8;

interface DialerParts {
  /** Returns the jump hosts of a host, in the order of the connection. */
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
  readonly jumps: readonly JumpHost[];
  /** It is a jump host. */
  readonly isHop: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Connects with the built-in client: directly, through a command, or through shared jump hosts. */
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

  /** Dials and logs in. If the server drops the connection before login, retries with growing pauses. */
  async connect(
    options: ConnectionOptions,
    loginPassword: SecretSource | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Connection> {
    const jumps = await this.#parts.jumpHostsTo(options);
    return this.#connect({ options, loginPassword, jumps, isHop: false, signal });
  }

  /** Opens a stream to a host: TCP, a command, or a channel of a jump host. */
  async stream(options: ConnectionOptions, signal: AbortSignal | undefined): Promise<Duplex> {
    return this.#stream(options, await this.#parts.jumpHostsTo(options), signal);
  }

  async #connect(login: Login): Promise<Connection> {
    const { options, jumps, isHop, signal } = login;
    for (let attempt = 1; ; attempt += 1) {
      try {
        signal?.throwIfAborted();
        const direct = isHop ? pLimit(1) : this.#handshakes;
        const limit = jumps.length === 0 ? direct : (await this.#hop(jumps, signal)).limit;
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

  async #once({ options, loginPassword: password, jumps, isHop, signal }: Login): Promise<Connection> {
    const { keys, hostKeys, prompter, log, notice } = this.#parts;
    const turn = new PromptTurn(isHop ? undefined : this.#prompts);
    try {
      // Before the connection: a server waits only a while for a login, and accepts few that wait.
      const lines = await hostKeys.lines(options);
      const shared = { options, password, keys, hostKeys, lines, prompter, log, notice };
      const parts = { ...shared, turn, carries: isHop, signal };
      for (;;) {
        try {
          return await openConnection(await this.#stream(options, jumps, signal), parts);
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
    jumps: readonly JumpHost[],
    signal: AbortSignal | undefined,
  ): Promise<Duplex> {
    try {
      return await this.#dial(options, jumps, signal);
    } catch (error) {
      throw connectFailure(options, error);
    }
  }

  async #dial(
    options: ConnectionOptions,
    jumps: readonly JumpHost[],
    signal: AbortSignal | undefined,
  ): Promise<Duplex> {
    const { proxyCommand } = options;
    if (proxyCommand !== undefined) return dialCommand({ ...options, proxyCommand }, this.#parts.env);
    const hop = jumps.at(-1);
    if (hop === undefined) return dialTcp(options, signal);
    const { ssh } = await (await this.#hop(jumps, signal)).connection;
    try {
      return await ssh.forwardOut('127.0.0.1', 0, options.hostname, options.port);
    } catch (error) {
      throw throughHop(options, hop.options, error);
    }
  }

  /** Returns the connection to the last jump host, shared by all hosts that use it with the same settings. */
  async #hop(jumps: readonly JumpHost[], signal: AbortSignal | undefined): Promise<Hop> {
    const key = JSON.stringify(jumps.map(({ options }) => ({ ...options, inherited: undefined })));
    const known = this.#hops.get(key);
    if (known !== undefined) return known;
    const last = jumps.at(-1);
    if (last === undefined) throw new TypeError('no jump host');
    const connection = this.#connect({ ...last, jumps: jumps.slice(0, -1), isHop: true, signal });
    const hop = { connection, limit: pLimit(maxThroughHop) };
    this.#hops.set(key, hop);
    const forget = (): void => void this.#hops.delete(key);
    connection.then(({ closed }) => closed.addEventListener('abort', forget, { once: true }), forget);
    await connection.catch(() => undefined);
    return hop;
  }
}

/** Opens a TCP connection. Rejects with the socket's error, or ETIMEDOUT after the given time. */
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

/** Maximum characters kept of a ProxyCommand's stderr, from its end. */
const longestError = 2_000;
/** Milliseconds that the command may run after the end of its output: a child process may hold it. */
const endMs = 1_000;
/** OpenSSH's messages for a connection that was cut early: a retry may help, as with a direct connection. */
const cut = /kex_exchange_identification|ssh_exchange_identification|Connection (closed|reset) by/;

/**
 * Runs a ProxyCommand in the user's shell, as ssh does, and returns its input and output as one stream; the command
 * ends with the stream. A command that fails before its first byte of output is an error with its stderr:
 * `ssh.proxy-command`, or `ssh.connection-lost` if a retry may help.
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
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-longestError);
  });
  const exited = once(child, 'close').catch((error: unknown) => {
    stderr = error instanceof Error ? error.message : String(error);
  });
  const output = async function* (): AsyncGenerator<Buffer> {
    let hasOutput = false;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      hasOutput = true;
      yield chunk;
    }
    await Promise.race([exited, sleep(endMs, undefined, { ref: false })]);
    const { exitCode, signalCode } = child;
    if (!hasOutput && (stderr !== '' || exitCode !== 0))
      throw failed(options, stderr, exitCode ?? signalCode);
  };
  // Ignores failed writes to a command that has exited: the end of its output reports the reason.
  child.stdin.on('error', () => undefined);
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => void child.stdin.write(chunk, () => done()),
    final: (done) => void child.stdin.end(() => done()),
  });
  const stream = Duplex.from({ readable: output(), writable: input });
  stream.once('close', () => child.kill());
  return stream;
}

function failed(options: ConnectionOptions, stderr: string, end: number | string | null): Error {
  const seen = foreignLines(stderr, longestError).trim();
  return connectError(options, {
    code: cut.test(stderr) ? 'ssh.connection-lost' : 'ssh.proxy-command',
    what: `the ProxyCommand for ${options.hostname}:${options.port} exited before it connected`,
    expected: 'an SSH server at its other end',
    seen: seen === '' ? `no output (${end === null ? 'no exit code' : `exit ${end}`})` : seen,
    next: `run it by hand: ${options.proxyCommand ?? ''}`,
  });
}
