import pLimit from 'p-limit';

import type { AzureAgent, AzureClient } from '../../shared/azure/client.ts';
import { findAgents, isListedWhole, type AgentsOf } from '../../shared/azure/pools/agents.ts';
import { defined } from '../../shared/base/objects.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import { poolsInUse } from '../../shared/contract/status.ts';
import { createEngine } from '../../shared/engine/docker.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import { probeHost } from '../../shared/health/probe.ts';
import type { EventSink } from '../apply/events.ts';
import { failure } from '../apply/outcome.ts';
import type { Facts } from '../facts/facts.ts';
import { gatherFacts } from '../facts/gather.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { Session, Transport } from '../ssh/transport.ts';
import { knownPools } from '../steps/pool-names.ts';
import { probeOptions } from '../steps/probe.ts';
import type { PoolAgents } from '../verdict/sight.ts';
import { agentNamesOf, type Look } from './row.ts';

interface LookTools {
  readonly transport: Transport;
  readonly root: HostRoot;
  readonly emit: EventSink;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Hosts checked at the same time. */
  readonly parallel: number;
  /** Run a probe container on each. */
  readonly probe: { readonly deadlineMs: number } | undefined;
}

/**
 * Looks at all hosts: one connection and one exec each, one container more with `probe`. Changes nothing. What goes wrong
 * with a host, a mistake of ours included, is that host's.
 */
export async function lookAtHosts(hosts: readonly HostSpec[], tools: LookTools): Promise<readonly Look[]> {
  const limit = pLimit(tools.parallel);
  return Promise.all(hosts.map((host) => limit(() => checkHostLoad(host, tools))));
}

async function checkHostLoad(host: HostSpec, tools: LookTools): Promise<Look> {
  const { transport, emit, signal } = tools;
  const { name } = host;
  try {
    signal.throwIfAborted();
    emit({ kind: 'host-state', host: name, state: 'connecting' });
    const session = await transport.connect({ name, ssh: host.ssh }, { signal });
    try {
      emit({ kind: 'host-state', host: name, state: 'reading' });
      const facts = await gatherFacts(session, host, tools.root, signal);
      // What is made of all hosts together is tried on this one alone, where its failure is its own.
      for (const pool of poolsSeen({ host, facts })) agentNamesOf({ host, facts }, pool);
      if (tools.probe === undefined || !facts.docker.active) return { host, facts };
      emit({ kind: 'host-state', host: name, state: 'proving' });
      return { host, facts, probe: await probe(session, host, facts, tools.probe.deadlineMs) };
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const { problem } = failure(name, error, tools.log);
    return { host, ...defined({ problem }) };
  }
}

async function probe(session: Session, host: HostSpec, facts: Facts, deadlineMs: number): Promise<Checkup> {
  const agent = session.socketAgent('/var/run/docker.sock');
  try {
    const image = facts.manager.status?.image.reference;
    return await probeHost(createEngine({ agent }), { ...probeOptions(host, facts, image), deadlineMs });
  } finally {
    agent.destroy();
  }
}

interface PoolListing {
  /** By pool name. */
  readonly agents: ReadonlyMap<string, PoolAgents>;
  /** Why pools could not be listed; a problem of several pools is here once. */
  readonly problems: readonly Problem[];
}

/**
 * A small pool by one list, at once; of a large one what `wanted` says, which may have to wait for the hosts: one list of all of
 * it, or a call for each host.
 */
export async function listPools(
  client: AzureClient,
  names: readonly string[],
  wanted: (pool: string) => Promise<readonly AgentsOf[]>,
): Promise<PoolListing> {
  const problems = new Map<string, Problem>();
  const listed = await Promise.all(
    [...new Set(names)].map(async (name): Promise<readonly [string, PoolAgents]> => {
      try {
        return [name, await listPool(client, name, wanted)];
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        problems.set(`${error.problem.code} ${error.problem.what}`, error.at({ step: 'pool' }).problem);
        return [name, undefined];
      }
    }),
  );
  return { agents: new Map(listed), problems: [...problems.values()] };
}

/** The pools that a host's agents are to be in, and those that its manager says they are in. Pure. */
export function poolsSeen({ host, facts }: Look): readonly string[] {
  const { status } = facts?.manager ?? {};
  return [
    ...(facts === undefined ? [] : knownPools(host, facts)),
    ...(status === undefined ? [] : poolsInUse(status)),
  ];
}

/** The agents of a pool that rows tell of, host by host. Pure. */
export function agentsWanted(looks: readonly Look[], pool: string): readonly AgentsOf[] {
  return looks.map((look) => {
    const owner = look.facts?.manager.status?.owner;
    return { names: agentNamesOf(look, pool), ...defined({ owner }) };
  });
}

/** Both, what is known of a pool by either. */
export function joined(first: PoolListing, second: PoolListing): PoolListing {
  const all = [...first.problems, ...second.problems];
  return {
    agents: new Map([...first.agents, ...second.agents]),
    problems: [...new Map(all.map((problem) => [`${problem.code} ${problem.what}`, problem])).values()],
  };
}

async function listPool(
  client: AzureClient,
  name: string,
  wanted: (pool: string) => Promise<readonly AgentsOf[]>,
): Promise<ReadonlyMap<string, AzureAgent>> {
  const pool = await client.findPool(name);
  if (pool === undefined) return new Map();
  const agents = isListedWhole(pool, [])
    ? await client.listAgents(pool.id)
    : await findAgents(client, pool, await wanted(name));
  return new Map(agents.map((agent) => [agent.name, agent]));
}

/**
 * What `tell` makes of each host, and what went wrong on hosts. Where it fails over one host's words that host is told of
 * as one that could not be read.
 */
export function tellEach<Told>(
  looks: readonly Look[],
  log: Logger,
  tell: (look: Look) => Told,
): { readonly told: readonly Told[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const told = looks.map((look) => {
    if (look.problem !== undefined) problems.push(look.problem);
    try {
      return tell(look);
    } catch (error) {
      const problem = hostProblem(look.host.name, error, log);
      problems.push(problem);
      return tell({ host: look.host, problem });
    }
  });
  return { told, problems };
}
