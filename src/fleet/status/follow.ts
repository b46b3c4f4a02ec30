import pLimit, { type LimitFunction } from 'p-limit';

import { backoffMs, type Clock } from '../../shared/base/clock.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Logger } from '../../shared/base/log.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import { createManagerClient } from '../client/manager-client.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { gatherFacts } from '../facts/gather.ts';
import { reading, withReport } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { Session, Transport } from '../ssh/transport.ts';
import { agentNamesOf, type Observation } from './row.ts';
import { poolsSeen } from './collect.ts';

/** Milliseconds between two questions to a manager. */
const askEveryMs = 10_000;
/** Milliseconds after which the facts are read again, and of a host whose manager does not answer. */
const factsEveryMs = 60_000;
const factsWithoutManagerMs = 30_000;
/** The longest pause before a new connection: a host that was rebooted is shown soon. */
const longestPauseMs = 60_000;

/** Failures that a new attempt does not end. Attempts that are rare lock no account. */
const needsPerson: ReadonlySet<string> = new Set([
  'ssh.auth',
  'ssh.host-key-mismatch',
  'ssh.host-key-revoked',
  'ssh.host-key-unknown',
  'ssh.host-key-short',
]);

export interface FollowTools {
  readonly transport: Pick<Transport, 'connect'>;
  readonly root: HostRoot;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Hosts that are connected to at the same time. */
  readonly parallel: number;
}

/**
 * Observes all hosts until the signal is aborted: keeps one connection to each, asks its manager every 10 s, reads its facts every
 * minute, and connects again with growing pauses. A host that fails does not affect the others. `seen` gets each observation.
 */
export async function followHosts(
  hosts: readonly HostSpec[],
  tools: FollowTools,
  seen: (observation: Observation) => void,
): Promise<void> {
  const limit = pLimit(tools.parallel);
  await Promise.all(hosts.map((host) => followHost(host, tools, limit, seen)));
}

async function followHost(
  host: HostSpec,
  tools: FollowTools,
  limit: LimitFunction,
  seen: (observation: Observation) => void,
): Promise<void> {
  const { clock, log, signal } = tools;
  let failures = 0;
  let link: HostLink | undefined;
  while (!signal.aborted) {
    try {
      link ??= await limit(() => HostLink.open(host, tools));
      const observation = await link.observe();
      if (signal.aborted) break;
      failures = 0;
      seen(observation);
      await clock.wait(link.pauseMs, link.ended);
    } catch (error) {
      void link?.close();
      link = undefined;
      if (signal.aborted) break;
      failures += 1;
      const problem = hostProblem(host.name, error, log);
      seen({ host, problem });
      await clock.wait(pauseMs(problem.code, failures), signal);
    }
  }
  await link?.close();
}

/** Returns how long to wait before the next connection. Pure. */
export function pauseMs(code: string, failures: number): number {
  const growing = backoffMs(failures);
  return needsPerson.has(code) ? growing : Math.min(growing, longestPauseMs);
}

interface Read {
  readonly facts: GatheredFacts;
  /** When they were read, by this machine's clocks. */
  readonly monotonic: number;
  readonly wall: number;
}

/** The connection to one host, with the facts that were read over it. */
class HostLink {
  readonly #host: HostSpec;
  readonly #session: Session;
  readonly #tools: FollowTools;
  #read: Read | undefined;
  #isManagerSilent = false;
  /** Aborted when the connection is lost, and at the end of the run. */
  readonly ended: AbortSignal;

  private constructor(host: HostSpec, session: Session, tools: FollowTools) {
    this.#host = host;
    this.#session = session;
    this.#tools = tools;
    this.ended = AbortSignal.any([tools.signal, session.closed]);
  }

  static async open(host: HostSpec, tools: FollowTools): Promise<HostLink> {
    const { name, ssh } = host;
    const session = await tools.transport.connect({ name, ssh }, { signal: tools.signal });
    return new HostLink(host, session, tools);
  }

  /** Milliseconds until the next observation. */
  get pauseMs(): number {
    return this.#hasManager() && !this.#isManagerSilent ? askEveryMs : factsWithoutManagerMs;
  }

  async close(): Promise<void> {
    await this.#session.close().catch(() => undefined);
  }

  async observe(): Promise<Observation> {
    const read = this.#read;
    const isDue = read === undefined || this.#tools.clock.monotonic() - read.monotonic >= factsEveryMs;
    const status = isDue || !this.#hasManager() ? undefined : await this.#ask();
    return read === undefined || status === undefined ? this.#readFacts() : this.#observation(read, status);
  }

  #hasManager(): boolean {
    const manager = this.#read && valueOf(reading(this.#read.facts, 'manager'))?.manager;
    return manager?.current !== undefined;
  }

  /** Returns undefined if the manager does not answer: then the facts say why. A lost connection is an error. */
  async #ask(): Promise<ManagerStatus | undefined> {
    const agent = this.#session.socketAgent(HostPaths.socket);
    try {
      const status = await createManagerClient(agent, this.#host.name, { attempts: 1 }).status();
      this.#isManagerSilent = false;
      return status;
    } catch (error) {
      if (this.ended.aborted) throw error;
      this.#isManagerSilent = true;
      this.#tools.log.log('debug', 'manager', { host: this.#host.name, error: String(error) });
      return undefined;
    } finally {
      agent.destroy();
    }
  }

  async #readFacts(): Promise<Observation> {
    const { clock, root, signal } = this.#tools;
    const facts = await gatherFacts(this.#session, this.#host, root, signal);
    this.#read = { facts, monotonic: clock.monotonic(), wall: clock.wall() };
    return this.#observation(this.#read);
  }

  /** Since the facts were read, the host's clock and this one have advanced by the same time. */
  #observation({ facts, monotonic, wall }: Read, status?: ManagerStatus): Observation {
    const laterMs = this.#tools.clock.monotonic() - monotonic;
    const reported = status === undefined ? facts : withReport(facts, { status });
    const time = facts.time === undefined ? undefined : facts.time + laterMs;
    const observation = { host: this.#host, facts: { ...reported, time }, readAt: wall + laterMs };
    // Later this runs for all hosts together: tried here, its failure is this host's problem.
    for (const pool of poolsSeen(observation)) agentNamesOf(observation, pool);
    return observation;
  }
}
