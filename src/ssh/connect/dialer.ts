import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import { FleetError, usageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { SecretSource, SshSpec } from '../../inventory/fleet.ts';
import type { Prompter } from '../ask.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { hopSpec } from '../config/hops.ts';
import { type Connection, openConnection } from './connect.ts';
import { dialTcp } from './dial.ts';
import { dialCommand } from './dial-command.ts';
import { connectError, connectFailure, interrupted } from '../failures.ts';
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
  readonly resolve: (name: string, spec: SshSpec) => Promise<ConnectionOptions>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keys: KeyRing;
  readonly hostKeys: HostKeyStore;
  readonly prompter: Prompter;
  readonly log: Logger;
  readonly notice: (line: string) => void;
}

/** Makes connections with the built-in client: directly, through a command, or through jump hosts that are shared. */
export class Dialer {
  readonly #parts: DialerParts;
  readonly #handshakes = pLimit(maxHandshakes);
  readonly #prompts = new PromptQueue();
  readonly #hops = new Map<
    string,
    { readonly connection: Promise<Connection>; readonly limit: LimitFunction }
  >();

  constructor(parts: DialerParts) {
    this.#parts = parts;
  }

  /** Closes the connections to jump hosts. */
  close(): void {
    const hops = [...this.#hops.values()];
    this.#hops.clear();
    for (const hop of hops) hop.connection.then((connection) => connection.close()).catch(() => undefined);
  }

  /**
   * Dials and logs in; again, a little later each time, when the server drops us before the login.
   * `trail`: the chains of jump hosts that this connection is made for.
   */
  async connect(
    options: ConnectionOptions,
    password: SecretSource | undefined,
    signal: AbortSignal | undefined,
    trail: readonly string[] = [],
  ): Promise<Connection> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        signal?.throwIfAborted();
        const limit = await this.#limitFor(options, trail, signal);
        return await limit(async () => this.#once(options, password, signal, trail));
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

  async #once(
    options: ConnectionOptions,
    password: SecretSource | undefined,
    signal: AbortSignal | undefined,
    trail: readonly string[],
  ): Promise<Connection> {
    const { keys, hostKeys, prompter, log, notice } = this.#parts;
    const turn = new PromptTurn(trail.length === 0 ? this.#prompts : undefined);
    const parts = { options, password, keys, hostKeys, prompter, log, notice, turn, signal };
    try {
      for (;;) {
        try {
          return await openConnection(await this.stream(options, signal, trail), parts);
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

  /** The bytes' way to a host: TCP, a command, or a channel of a jump host. */
  async stream(
    options: ConnectionOptions,
    signal: AbortSignal | undefined,
    trail: readonly string[] = [],
  ): Promise<Duplex> {
    try {
      return await this.#dial(options, signal, trail);
    } catch (error) {
      throw connectFailure(options, error);
    }
  }

  async #limitFor(
    options: ConnectionOptions,
    trail: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<LimitFunction> {
    if (options.jump.length === 0) return trail.length === 0 ? this.#handshakes : pLimit(1);
    return (await this.#hop(options, options.jump, signal, trail)).limit;
  }

  async #dial(
    options: ConnectionOptions,
    signal: AbortSignal | undefined,
    trail: readonly string[],
  ): Promise<Duplex> {
    const { proxyCommand } = options;
    if (proxyCommand !== undefined) return dialCommand({ ...options, proxyCommand }, this.#parts.env);
    if (options.jump.length === 0) return dialTcp(options, signal);
    const { ssh } = await (await this.#hop(options, options.jump, signal, trail)).connection;
    try {
      return await ssh.forwardOut('127.0.0.1', 0, options.hostname, options.port);
    } catch (error) {
      throw throughHop(options, error);
    }
  }

  /** The connection to the last host of a chain, shared by all that go through it. */
  async #hop(
    { sshConfig }: ConnectionOptions,
    chain: readonly string[],
    signal: AbortSignal | undefined,
    trail: readonly string[],
  ): Promise<{ readonly connection: Promise<Connection>; readonly limit: LimitFunction }> {
    const key = [sshConfig, chain.join(',')].join('\n');
    if (trail.includes(key)) throw loop(chain);
    const known = this.#hops.get(key);
    if (known !== undefined) return known;
    const { name, spec } = hopSpec(chain.at(-1) ?? '', sshConfig);
    const before = chain.slice(0, -1);
    const connection = this.#parts
      .resolve(name, before.length === 0 ? spec : { ...spec, jump: before.join(',') })
      .then((options) => this.connect(options, undefined, signal, [...trail, key]));
    const hop = { connection, limit: pLimit(maxThroughHop) };
    this.#hops.set(key, hop);
    const forget = (): void => void this.#hops.delete(key);
    connection.then(({ closed }) => closed.addEventListener('abort', forget, { once: true }), forget);
    await connection.catch(() => undefined);
    return hop;
  }
}

function throughHop(options: ConnectionOptions, error: unknown): FleetError {
  const seen = error instanceof Error ? error.message : String(error);
  const via = options.jump.at(-1) ?? '';
  return connectError(
    options,
    {
      code: /refused/i.test(seen) ? 'ssh.refused' : 'ssh.jump',
      what: `the jump host ${via} cannot reach ${options.hostname}:${options.port}`,
      seen,
      next: `ssh ${via} nc -zv ${options.hostname} ${options.port}   # and check AllowTcpForwarding on ${via}`,
    },
    error,
  );
}

function loop(chain: readonly string[]): FleetError {
  return usageError({
    code: 'ssh.jump',
    step: 'connect',
    what: `the way to ${chain.at(-1) ?? ''} leads through itself`,
    next: 'end the chain in ~/.ssh/config: "ProxyJump none" for the jump host',
  });
}
