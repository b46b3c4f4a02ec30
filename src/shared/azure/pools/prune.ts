import type { Clock } from '../../base/clock.ts';
import { Capabilities } from '../../contract/paths.ts';
import type { AzureAgent, AzureClient } from '../client.ts';

/** Two checks this far apart must agree: an agent between two jobs is offline for a moment. */
const pruneGapMs = 3 * 60_000;

export interface PoolLeftovers {
  readonly pool: string;
  readonly poolId: number;
  readonly hosts: readonly OwnNames[];
  readonly found: readonly Leftover[];
  /** Agents that no slot will use again either, and that stay because they are online or have a job. */
  readonly inUse: readonly AzureAgent[];
}

/** A pool with the agent names that hosts may have in it. */
export interface PoolNames {
  readonly pool: string;
  readonly hosts: readonly OwnNames[];
  /** Hosts without a slot in this pool now that may have had one: each is also in `hosts` of another pool. */
  readonly visitors: readonly OwnNames[];
}

/** Finds leftovers in several pools; pools that do not exist are left out. */
export async function findLeftovers(
  client: AzureClient,
  pools: readonly PoolNames[],
): Promise<readonly PoolLeftovers[]> {
  const checks = await Promise.all(pools.map((each) => checkPool(client, each)));
  const seen = checks.filter((each) => each !== undefined);
  const owners = new Map<string, Set<string>>();
  for (const { hosts, agents } of seen)
    for (const { host, configured } of hosts)
      owners.set(host, new Set([...(owners.get(host) ?? []), ...ownersOf(agents, configured ?? new Set())]));
  return seen.map(({ id, name, agents, hosts, visitors }) => {
    const guests = visitors.map((each) => ({ ...each, owners: owners.get(each.host) ?? new Set<string>() }));
    const all = [...hosts, ...guests];
    const inUse = surplusAgents(agents, all).flatMap(({ agent }) => (isUnused(agent) ? [] : [agent]));
    return { pool: name, poolId: id, hosts: all, found: leftovers(agents, all), inUse };
  });
}

async function checkPool(client: AzureClient, { pool, ...names }: PoolNames) {
  const found = await client.findPool(pool);
  return found && { ...names, id: found.id, name: found.name, agents: await everyAgent(client, found.id) };
}

/** Lists agents with their last job: an agent whose last job differs at the second check is in use. */
function everyAgent(client: AzureClient, poolId: number) {
  return client.listAgents(poolId, { lastCompleted: true });
}

export interface Pruned {
  readonly pool: string;
  readonly agent: string;
  readonly removed: boolean;
  /** The reason why the agent was kept. */
  readonly why?: string;
}

/** Waits, checks again, and removes what both checks found. The server refuses to remove an agent that has a job by then. */
export async function prune(
  client: AzureClient,
  first: readonly PoolLeftovers[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly Pruned[]> {
  await clock.wait(pruneGapMs, signal);
  signal.throwIfAborted();
  const results: Pruned[] = [];
  for (const { pool, poolId, hosts, found } of first) {
    const again = leftovers(await everyAgent(client, poolId), hosts);
    const sure = confirmed(found, again);
    for (const leftover of found) {
      const alive = !sure.includes(leftover);
      const removed = !alive && (await client.deleteAgent(poolId, leftover.id));
      const why = alive ? 'the agent was used in between' : 'the agent runs a job';
      results.push({ pool, agent: leftover.name, removed, ...(removed ? {} : { why }) });
    }
  }
  return results;
}

/** The agent names that one host may have in a pool. */
export interface OwnNames {
  readonly host: string;
  /** `{host}-{slot}` with the host filled in: `h200-1-{slot}`. */
  readonly template: string;
  /** The configured agents; undefined while they are unknown (GPUs not counted yet). */
  readonly configured: ReadonlySet<string> | undefined;
  /**
   * Owners of the host's agents in other pools, for a host without a slot in this pool: only agents of these owners are
   * leftovers, because another installation may use the same name.
   */
  readonly owners?: ReadonlySet<string>;
}

/** An agent in the pool that no slot will use again. */
export interface Leftover {
  readonly id: number;
  readonly name: string;
  readonly host: string;
  readonly owner: string;
  /** The last job; a change between two checks means that the agent is in use. */
  readonly lastRequest: number | undefined;
}

/**
 * Returns the agents that one check finds removable: registered by azp-fleet, named like a slot of one of these hosts that
 * is no longer configured, with the same owner as the host's other agents, offline, and without a job.
 */
export function leftovers(agents: readonly AzureAgent[], hosts: readonly OwnNames[]): readonly Leftover[] {
  return surplusAgents(agents, hosts)
    .filter(({ agent }) => isUnused(agent))
    .map(({ agent: { id, name, lastCompletedRequest }, host, owner }) => ({
      id,
      name,
      host,
      owner,
      lastRequest: lastCompletedRequest?.requestId,
    }));
}

function isUnused({ status, assignedRequest }: AzureAgent): boolean {
  return status === 'offline' && assignedRequest === undefined;
}

/** Returns the agents that no slot will use again, also those in use. */
function surplusAgents(agents: readonly AzureAgent[], hosts: readonly OwnNames[]) {
  const owned = agents.flatMap((agent) => {
    const owner = agent.userCapabilities?.[Capabilities.owner];
    return owner === undefined ? [] : [{ agent, owner }];
  });
  const inUse = new Set(hosts.flatMap(({ configured }) => [...(configured ?? [])]));
  return hosts.flatMap(({ host, template, configured, owners: elsewhere }) => {
    if (configured === undefined) return [];
    const here = ownersOf(agents, configured);
    const theirs = (owner: string) =>
      elsewhere === undefined ? here.size === 0 || here.has(owner) : elsewhere.has(owner);
    return owned
      .filter(({ agent, owner }) => isSlotOf(template, agent.name) && !inUse.has(agent.name) && theirs(owner))
      .map((each) => ({ host, ...each }));
  });
}

/** Returns the owners of the agents with these names. */
function ownersOf(agents: readonly AzureAgent[], names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(
    agents.flatMap(({ name, userCapabilities }) =>
      names.has(name) ? (userCapabilities?.[Capabilities.owner] ?? []) : [],
    ),
  );
}

/** Whether a name fits the template. Slots have no dash: `gpu-2-0` is slot 0 of host gpu-2, not a slot of host gpu. */
function isSlotOf(template: string, name: string): boolean {
  const [before = '', after = ''] = template.split('{slot}');
  const fits = name.startsWith(before) && name.endsWith(after);
  return fits && /^[^-]+$/u.test(name.slice(before.length, name.length - after.length));
}

/** Returns the leftovers of the first check that the second one confirms. */
export function confirmed(first: readonly Leftover[], second: readonly Leftover[]): readonly Leftover[] {
  return first.filter(({ id, lastRequest, owner }) =>
    second.some((each) => each.id === id && each.lastRequest === lastRequest && each.owner === owner),
  );
}
