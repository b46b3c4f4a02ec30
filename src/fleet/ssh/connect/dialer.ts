import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import { FleetError } from '../../../shared/base/errors.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import type { Prompter } from '../ask.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import type { JumpHost } from '../config/way.ts';
import { type Connection, openConnection } from './connect.ts';
import { dialTcp } from './dial.ts';
import { dialCommand } from './dial-command.ts';
import { connectFailure, interrupted, throughHop } from '../failures.ts';
import { PromptTurn, PromptQueue, HungUp } from './prompt-turn.ts';
import type { HostKeyStore } from '../host-keys/store.ts';
import type { KeyRing } from './keys.ts';

/** Handshakes at the same time; each costs about 12 ms of one core here and some memory. */
const maxHandshakes = 64;
/** The same through one jump host. */
const maxThroughHop = 8;
/** Attempts when the server drops us before the login (MaxStartups does that at random under load). */
const maxAttempts = 8;

export interface DialerParts {
  /** The jump hosts before a host, in the order they are passed. */
  readonly wayTo: (options: ConnectionOptions) => Promise<readonly JumpHost[]>;
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
    const way = await this.#parts.wayTo(options);
    return this.#connect({ options, loginPassword, way, isHop: false, signal });
  }

  /** The bytes' way to a host: TCP, a command, or a channel of a jump host. */
  async stream(options: ConnectionOptions, signal: AbortSignal | undefined): Promise<Duplex> {
    return this.#stream(options, await this.#parts.wayTo(options), signal);
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
