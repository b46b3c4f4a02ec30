import type { Clock } from '../../base/clock.ts';
import { foreignLine } from '../../base/foreign-text.ts';
import { defined } from '../../base/objects.ts';
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
  readonly inUse: readonly SurplusAgent[];
  /** Name templates of every host of the inventory; empty: not compared with them. */
  readonly known: readonly string[];
  /** Agents that azp-fleet registered and that belong to no host of the inventory. */
  readonly strangers: readonly Stranger[];
}

/** An agent of an owner that the inventory does not have: another inventory may use the pool. It is never removed. */
export interface Stranger {
  readonly name: string;
  readonly owner: string;
  /** The host's name, as its manager wrote it. */
  readonly host?: string;
}

/** A pool with the agent names that hosts may have in it. */
export interface PoolNames {
  readonly pool: string;
  readonly hosts: readonly OwnNames[];
  /** Hosts without a slot in this pool now that may have had one: each is also in `hosts` of another pool. */
  readonly visitors: readonly OwnNames[];
  /** Name templates of every host of the inventory, to recognize former names and unknown owners; absent: neither. */
  readonly known?: readonly string[];
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
  const knownOwners = new Set(seen.flatMap(({ agents, known }) => [...ownersBy(agents, known ?? [])]));
  return seen.map(({ id, name, agents, hosts, visitors, known = [] }) => {
    const guests = visitors.map((each) => ({ ...each, owners: owners.get(each.host) ?? new Set<string>() }));
    const all = [...hosts, ...guests];
    const inUse = surplusAgents(agents, all, known).filter(({ agent }) => !isUnused(agent));
    const found = leftovers(agents, all, known);
    const strangers = known.length === 0 ? [] : strangersAmong(agents, knownOwners, found);
    return { pool: name, poolId: id, hosts: all, found, inUse, known, strangers };
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
  for (const { pool, poolId, hosts, found, known } of first) {
    const again = leftovers(await everyAgent(client, poolId), hosts, known);
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
  /** The name of the host when it registered the agent, where it has another one now. */
  readonly renamedFrom?: string;
}

/**
 * Returns the agents that one check finds removable: registered by azp-fleet, named like a slot of one of these hosts that
 * is no longer configured, with the same owner as the host's other agents, offline, and without a job. With the templates of the
 * whole inventory (`known`) also those that the same owner registered under a former name of the host.
 */
export function leftovers(
  agents: readonly AzureAgent[],
  hosts: readonly OwnNames[],
  known: readonly string[] = [],
): readonly Leftover[] {
  return surplusAgents(agents, hosts, known)
    .filter(({ agent }) => isUnused(agent))
    .map(({ agent: { id, name, lastCompletedRequest }, host, owner, renamedFrom }) => ({
      id,
      name,
      host,
      owner,
      lastRequest: lastCompletedRequest?.requestId,
      ...(renamedFrom === undefined ? {} : { renamedFrom }),
    }));
}

function isUnused({ status, assignedRequest }: AzureAgent): boolean {
  return status === 'offline' && assignedRequest === undefined;
}

/** Returns the agents that no slot will use again, also those in use. */
function surplusAgents(
  agents: readonly AzureAgent[],
  hosts: readonly OwnNames[],
  known: readonly string[],
): readonly SurplusAgent[] {
  const owned = ownedAmong(agents);
  const inUse = new Set(hosts.flatMap(({ configured }) => [...(configured ?? [])]));
  return hosts.flatMap(({ host, template, configured, owners: elsewhere }) => {
    if (configured === undefined) return [];
    const here = ownersOf(agents, configured);
    const own = elsewhere ?? here;
    const theirs = (owner: string) => own.has(owner) || (elsewhere === undefined && here.size === 0);
    const isFormer = (name: string) => known.length > 0 && !known.some((each) => isSlotOf(each, name));
    return owned.flatMap(({ agent, owner }): SurplusAgent[] => {
      if (inUse.has(agent.name)) return [];
      if (isSlotOf(template, agent.name)) return theirs(owner) ? [{ host, agent, owner }] : [];
      if (!own.has(owner) || !isFormer(agent.name)) return [];
      return [{ host, agent, owner, renamedFrom: hostIn(agent) ?? 'another name' }];
    });
  });
}

interface SurplusAgent {
  readonly host: string;
  readonly agent: AzureAgent;
  readonly owner: string;
  readonly renamedFrom?: string;
}

function ownedAmong(agents: readonly AzureAgent[]) {
  return agents.flatMap((agent) => {
    const owner = agent.userCapabilities?.[Capabilities.owner];
    return owner === undefined ? [] : [{ agent, owner }];
  });
}

/** Returns the inventory name that the manager wrote on the agent. */
function hostIn({ userCapabilities }: AzureAgent): string | undefined {
  const host = userCapabilities?.[Capabilities.host];
  return host === undefined ? undefined : foreignLine(host, 64);
}

/** Returns the agents of owners without an agent that is named like one of the inventory. */
function strangersAmong(
  agents: readonly AzureAgent[],
  knownOwners: ReadonlySet<string>,
  found: readonly Leftover[],
): readonly Stranger[] {
  const removable = new Set(found.map(({ id }) => id));
  return ownedAmong(agents)
    .filter(({ agent, owner }) => !knownOwners.has(owner) && !removable.has(agent.id))
    .map(({ agent, owner }) => ({ name: agent.name, owner, ...defined({ host: hostIn(agent) }) }));
}

/** Returns the owners of the agents whose names fit one of the templates. */
function ownersBy(agents: readonly AzureAgent[], templates: readonly string[]): ReadonlySet<string> {
  const named = agents.filter(({ name }) => templates.some((each) => isSlotOf(each, name)));
  return new Set(ownedAmong(named).map(({ owner }) => owner));
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
