import pLimit from 'p-limit';

import type { AzureAgent, AzureClient, Pool } from '../../shared/azure/client.ts';
import { findAgents, isListedWhole, type AgentsOf } from '../../shared/azure/pools/agents.ts';
import { countJobs, type QueuedJobs } from '../../shared/azure/pools/overview.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import { poolsInUse } from '../../shared/contract/status.ts';
import { createEngine } from '../../shared/engine/docker.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import { probeHost, type ProbeOptions } from '../../shared/health/probe.ts';
import type { EventSink } from '../apply/events.ts';
import { failure } from '../apply/outcome.ts';
import { gatherFacts } from '../facts/gather.ts';
import { seenForProbe, statusOf } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { Session, Transport } from '../ssh/transport.ts';
import { knownPools } from '../steps/pool-names.ts';
import { probeOptions } from '../steps/probe.ts';
import type { PoolAgents } from '../verdict/host-view.ts';
import { createManagerClient } from '../client/manager-client.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { gpuUse, type SlotsNow, whyInUse } from './gpu-use.ts';
import { agentNamesOf, hasNoManager, type Observation } from './row.ts';
import { askSeries } from './series.ts';

interface ObserveTools {
  readonly transport: Transport;
  readonly root: HostRoot;
  readonly emit: EventSink;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'wall'>;
  readonly signal: AbortSignal;
  /** Hosts checked at the same time. */
  readonly parallel: number;
  /** Run a probe container on each. */
  readonly probe: { readonly deadlineMs: number; readonly deep: boolean } | undefined;
  /** Ask each manager for the history of its GPUs. */
  readonly history?: boolean;
}

/**
 * Observes all hosts: one connection and one exec each, one container with `probe`, one question with `history`. Changes nothing. An error, also a bug of
 * azp-fleet, is the problem of its host only.
 */
export async function observeHosts(
  hosts: readonly HostSpec[],
  tools: ObserveTools,
): Promise<readonly Observation[]> {
  const limit = pLimit(tools.parallel);
  return Promise.all(hosts.map((host) => limit(() => observeHost(host, tools))));
}

async function observeHost(host: HostSpec, tools: ObserveTools): Promise<Observation> {
  const { transport, emit, signal } = tools;
  const { name } = host;
  let isConnected = false;
  try {
    signal.throwIfAborted();
    emit({ kind: 'host-state', host: name, state: 'connecting' });
    const session = await transport.connect({ name, ssh: host.ssh }, { signal });
    isConnected = true;
    try {
      emit({ kind: 'host-state', host: name, state: 'reading' });
      const readFacts = async () => ({
        facts: await gatherFacts(session, host, tools.root, signal),
        readAt: tools.clock.wall(),
      });
      const [{ facts, readAt }, history] = await Promise.all([
        readFacts(),
        tools.history === true ? askSeries(session, name) : undefined,
      ]);
      const read = { host, facts, readAt, ...defined({ history }) };
      // Later this runs for all hosts together: tried here, its failure is this host's problem.
      for (const pool of poolsSeen({ host, facts })) agentNamesOf({ host, facts }, pool);
      if (tools.probe === undefined) return read;
      const seen = valueOf(seenForProbe(facts));
      if (seen?.dockerRuns !== true) return { ...read, isProbeSkipped: true };
      emit({ kind: 'host-state', host: name, state: 'proving' });
      const options = {
        ...probeOptions(host, seen, valueOf(statusOf(facts)), facts.time ?? tools.clock.wall()),
        deadlineMs: tools.probe.deadlineMs,
        ...(tools.probe.deep ? { deep: busyNow(session, { host, facts }, tools.root) } : {}),
      };
      return { ...read, probe: await probe(session, options) };
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const { problem } = failure(name, error, tools.log);
    return { host, isConnected, ...defined({ problem }) };
  }
}

/** Returns the question of the deep check, answered by the host and its manager each time that it is asked. */
function busyNow(
  session: Session,
  { host, facts }: Pick<Observation, 'host' | 'facts'>,
  root: HostRoot,
): NonNullable<ProbeOptions['deep']> {
  const slotsNow = async (): Promise<SlotsNow> => {
    if (hasNoManager(facts)) return { kind: 'none' };
    const agent = session.socketAgent(HostPaths.socket);
    try {
      const manager = createManagerClient(agent, host.name, { attempts: 1, anyRelease: true });
      return { kind: 'value', value: await manager.status() };
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      return { kind: 'unknown', why: error.problem.what };
    } finally {
      agent.destroy();
    }
  };
  return async (gpu) => whyInUse(gpu, await slotsNow(), await gpuUse(session, root));
}

async function probe(session: Session, options: ProbeOptions): Promise<Checkup> {
  const agent = session.socketAgent('/var/run/docker.sock');
  try {
    return await probeHost(createEngine({ agent }), options);
  } finally {
    agent.destroy();
  }
}

/** The queue of a pool. */
export interface PoolQueue {
  readonly pool: string;
  /** Why it could not be read; absent: it was. */
  readonly unknown?: string;
  readonly jobs?: QueuedJobs;
}

interface PoolListing {
  /** By pool name. */
  readonly agents: ReadonlyMap<string, PoolAgents>;
  /** Of the pools that exist, or may. */
  readonly queues: readonly PoolQueue[];
  /** Why pools could not be listed; a problem of several pools is here once. */
  readonly problems: readonly Problem[];
}

/**
 * Lists the agents of pools: all of a small pool at once, and of a large one those of `requests`, by one list or a call for each host.
 * `requests` may wait for the hosts.
 */
export async function listPools(
  client: AzureClient,
  names: readonly string[],
  requests: (pool: string) => Promise<readonly AgentsOf[]>,
  now: number,
): Promise<PoolListing> {
  const problems = new Map<string, Problem>();
  const queues: PoolQueue[] = [];
  const listed = await Promise.all(
    [...new Set(names)].map(async (name): Promise<readonly [string, PoolAgents]> => {
      try {
        const pool = await client.findPool(name);
        if (pool === undefined) return [name, new Map()];
        const [agents, queue] = await Promise.all([
          listPool(client, pool, () => requests(name)),
          readQueue(client, pool, now),
        ]);
        queues.push({ pool: name, ...queue });
        return [name, agents];
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        queues.push({ pool: name, unknown: error.problem.what });
        problems.set(`${error.problem.code} ${error.problem.what}`, error.at({ step: 'pool' }).problem);
        return [name, undefined];
      }
    }),
  );
  return {
    agents: new Map(listed),
    queues: queues.toSorted((one, other) => one.pool.localeCompare(other.pool)),
    problems: [...problems.values()],
  };
}

/** Returns the desired pools of a host's agents, and those that its manager reports. Pure. */
export function poolsSeen({ host, facts }: Observation): readonly string[] {
  const status = facts && valueOf(statusOf(facts));
  return [
    ...(facts === undefined ? [] : knownPools(host, facts)),
    ...(status === undefined ? [] : poolsInUse(status)),
  ];
}

/** Returns the agents of a pool that the rows show, host by host. Pure. */
export function agentsToFind(observations: readonly Observation[], pool: string): readonly AgentsOf[] {
  return observations.map((observation) => {
    const owner = observation.facts && valueOf(statusOf(observation.facts))?.owner;
    return { names: agentNamesOf(observation, pool), ...defined({ owner }) };
  });
}

/** Joins two listings; of a pool in both, the second counts. */
export function joined(first: PoolListing, second: PoolListing): PoolListing {
  const all = [...first.problems, ...second.problems];
  return {
    agents: new Map([...first.agents, ...second.agents]),
    queues: [...first.queues, ...second.queues],
    problems: [...new Map(all.map((problem) => [`${problem.code} ${problem.what}`, problem])).values()],
  };
}

/** A queue that cannot be read is shown as unknown; it is no problem of the hosts. */
async function readQueue(client: AzureClient, { id }: Pool, now: number): Promise<Omit<PoolQueue, 'pool'>> {
  try {
    return { jobs: countJobs(await client.unfinishedRequests(id), now) };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { unknown: error.problem.what };
  }
}

async function listPool(
  client: AzureClient,
  pool: Pool,
  requests: () => Promise<readonly AgentsOf[]>,
): Promise<ReadonlyMap<string, AzureAgent>> {
  const agents = isListedWhole(pool, [])
    ? await client.listAgents(pool.id)
    : await findAgents(client, pool, await requests());
  return new Map(agents.map((agent) => [agent.name, agent]));
}

/** Describes each host and returns the problems of hosts. A host that `describe` fails on is described as one that could not be read. */
export function describeEach<Row>(
  observations: readonly Observation[],
  log: Logger,
  describe: (observation: Observation) => Row,
): { readonly rows: readonly Row[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const rows = observations.map((observation) => {
    const { host } = observation;
    if (observation.problem !== undefined) problems.push(observation.problem);
    try {
      return describe(observation);
    } catch (error) {
      const problem = hostProblem(host.name, error, log);
      problems.push(problem);
      return describe({ host, problem });
    }
  });
  return { rows, problems };
}
