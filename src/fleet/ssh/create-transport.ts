import { setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';

import { FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { SecretSource, SshSpec, UploadLimits } from '../inventory/fleet.ts';
import type { JumpHost } from './config/jump-hosts.ts';
import type { ConnectionOptions } from './config/options.ts';
import { SshResolver } from './config/resolver.ts';
import { KeyRing } from './connect/authentication.ts';
import { Dialer } from './connect/dial.ts';
import { HostKeyStore } from './connect/host-keys.ts';
import { checkSupported, interrupted, ofHost } from './failures.ts';
import { Prompter, type Answerers } from './questions.ts';
import { HostSession } from './session/session.ts';
import { Sudo } from './session/sudo.ts';
import { UploadLimiter } from './session/upload.ts';
import type { Session, Target, Transport } from './transport.ts';
import { opensshWire } from './wire/openssh.ts';
import { ssh2Wire } from './wire/ssh2.ts';
import type { Wire } from './wire/wire.ts';

/** Maximum ssh processes that log in at a time: each is a process with a key exchange. */
const maxMasters = 16;

export function createTransport(parts: TransportParts): Transport {
  return new SshTransport(parts);
}

class SshTransport implements Transport {
  readonly #parts: TransportParts;
  readonly #tools: ConnectionTools;
  readonly #masters = pLimit(maxMasters);
  readonly #uploads: UploadLimiter;
  readonly #sessions = new Set<Session>();

  constructor(parts: TransportParts) {
    this.#parts = parts;
    this.#tools = connectionTools(parts);
    this.#uploads = new UploadLimiter(parts.uploads, parts.clock);
  }

  async connect(target: Target, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Session> {
    const options = await this.#resolve(target, signal);
    if (target.ssh.transport === 'builtin') this.#tools.checkSupported(options);
    const dial = async (stop: AbortSignal | undefined): Promise<Wire> =>
      target.ssh.transport === 'openssh'
        ? this.#openssh(options, stop)
        : ssh2Wire(await this.#tools.dialer.connect(options, target.ssh.loginPassword, stop));
    const session = new HostSession({
      host: target.name,
      wire: await dial(signal).catch((error: unknown) => {
        throw ofHost(target.name, error);
      }),
      sudo: new Sudo(options, target.ssh.sudoPassword, this.#tools.prompter),
      log: this.#parts.log,
      clock: this.#parts.clock,
      redial: (deadline, stop) => redial(dial, deadline, stop, this.#parts.clock),
      uploads: this.#uploads,
    });
    this.#sessions.add(session);
    session.closed.addEventListener('abort', () => this.#sessions.delete(session), { once: true });
    return session;
  }

  async #resolve({ name, ssh }: Target, signal: AbortSignal | undefined): Promise<ConnectionOptions> {
    if (signal?.aborted === true) throw interrupted(name);
    const given = new AbortController();
    const up = new Promise<never>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(interrupted(name)), {
        once: true,
        signal: given.signal,
      });
    });
    return Promise.race([this.#tools.resolve(name, ssh), up]).finally(() => given.abort());
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    this.#tools.close();
  }

  /** Connects without questions, many hosts at a time; then, if an answer is needed, one at a time at the terminal. */
  async #openssh(options: ConnectionOptions, signal: AbortSignal | undefined): Promise<Wire> {
    const jumps = await this.#tools.jumpHostsTo(options);
    const open = (interactive: boolean): Promise<Wire> =>
      opensshWire({ options, jumps, env: this.#parts.env, interactive, signal });
    const isAsked = [options, ...jumps.map((hop) => hop.options)].some(
      (each) => each.hostKeyPolicy === 'ask',
    );
    try {
      return await this.#masters(() => open(false));
    } catch (error) {
      const code = error instanceof FleetError ? error.problem.code : undefined;
      const answerable = code === 'ssh.auth' || (code === 'ssh.host-key-unknown' && isAsked);
      if (!answerable || !this.#tools.prompter.canAsk) throw error;
      return this.#tools.prompter.alone(() => open(true));
    }
  }
}

async function redial(
  dial: (signal: AbortSignal | undefined) => Promise<Wire>,
  deadline: number,
  signal: AbortSignal | undefined,
  clock: Clock,
): Promise<Wire> {
  const permanent = new Set([
    'ssh.host-key-mismatch',
    'ssh.host-key-revoked',
    'ssh.host-key-short',
    'ssh.auth',
    'interrupted',
  ]);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await dial(signal);
    } catch (error) {
      const code = error instanceof FleetError ? error.problem.code : '';
      if (permanent.has(code) || signal?.aborted === true || clock.monotonic() > deadline) throw error;
      await sleep(Math.min(10_000, 500 * attempt) + Math.random() * 500);
    }
  }
}

export interface TransportParts {
  readonly home: string;
  readonly user: string;
  /** Environment, also of ssh, ProxyCommand and `Match exec`: without the fleet's secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Asks the user at the terminal; undefined without one. */
  readonly ask: Answerers['question'];
  /** Resolves a reference of the inventory. */
  readonly resolveSecret: (source: SecretSource) => Promise<Secret>;
  /** Shows one line to the user: a new host key, an unsupported option. */
  readonly notice: (line: string) => void;
  readonly uploads: UploadLimits;
  /** All hosts of the inventory, which may be jump hosts. */
  readonly hosts: readonly Target[];
}

/** Objects shared by all connections of a run. */
export interface ConnectionTools {
  readonly prompter: Prompter;
  readonly dialer: Dialer;
  readonly hostKeys: HostKeyStore;
  resolve(name: string, spec: SshSpec): Promise<ConnectionOptions>;
  /** Returns the jump hosts of a host, in the order of the connection. */
  jumpHostsTo(options: ConnectionOptions): Promise<readonly JumpHost[]>;
  /**
   * Throws if the built-in client would ignore a restriction of the SSH configuration; reports options that only add a
   * way to log in, once.
   */
  checkSupported(options: ConnectionOptions): void;
  /** Closes connections to jump hosts, and ends running `ssh -G` processes. */
  close(): void;
}

export function connectionTools(parts: TransportParts): ConnectionTools {
  const { env, log, notice } = parts;
  const resolver = new SshResolver(parts);
  const jumpHostsTo = (options: ConnectionOptions): Promise<readonly JumpHost[]> =>
    resolver.jumpHostsTo(options);
  const prompter = new Prompter({ question: parts.ask, resolve: parts.resolveSecret });
  const hostKeys = new HostKeyStore();
  const keys = new KeyRing(prompter);
  const noticed = new Set<string>();
  const check = (options: ConnectionOptions): void => {
    checkSupported(options);
    for (const option of options.unsupported) {
      const line = `the built-in client does not support ${option} of the SSH configuration; set "transport: openssh" if you need it`;
      if (!noticed.has(line)) notice(line);
      noticed.add(line);
    }
  };
  const checkedJumpHosts = async (options: ConnectionOptions): Promise<readonly JumpHost[]> => {
    const jumps = await jumpHostsTo(options);
    for (const hop of jumps) check(hop.options);
    return jumps;
  };
  const dialer = new Dialer({ jumpHostsTo: checkedJumpHosts, env, keys, hostKeys, prompter, log, notice });
  return {
    prompter,
    hostKeys,
    resolve: (name, spec) => resolver.resolve(name, spec),
    jumpHostsTo,
    checkSupported: check,
    dialer,
    close() {
      dialer.close();
      resolver.close();
    },
  };
}
