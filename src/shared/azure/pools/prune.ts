import type { Clock } from '../../base/machine/clock.ts';
import { Capabilities } from '../../contract/paths.ts';
import type { AzureAgent, AzureClient } from '../client.ts';

/** Two looks this far apart must agree: an agent between two jobs is offline for a moment. */
const pruneGapMs = 3 * 60_000;

export interface PoolLeftovers {
  readonly pool: string;
  readonly poolId: number;
  readonly hosts: readonly OwnNames[];
  readonly found: readonly Leftover[];
}

/** A pool with what hosts may have in it. */
export interface PoolNames {
  readonly pool: string;
  readonly hosts: readonly OwnNames[];
  /** Hosts of which no slot is in this pool now, but may have been: each also stands among `hosts` of another pool. */
  readonly visitors: readonly OwnNames[];
}

/** One look at several pools; those that do not exist are left out. */
export async function findLeftovers(
  client: AzureClient,
  pools: readonly PoolNames[],
): Promise<readonly PoolLeftovers[]> {
  const looks = await Promise.all(pools.map((each) => look(client, each)));
  const seen = looks.filter((each) => each !== undefined);
  const owners = new Map<string, Set<string>>();
  for (const { hosts, agents } of seen)
    for (const { host, wanted } of hosts)
      owners.set(host, new Set([...(owners.get(host) ?? []), ...ownersOf(agents, wanted ?? new Set())]));
  return seen.map(({ id, name, agents, hosts, visitors }) => {
    const guests = visitors.map((each) => ({ ...each, owners: owners.get(each.host) ?? new Set<string>() }));
    const all = [...hosts, ...guests];
    return { pool: name, poolId: id, hosts: all, found: leftovers(agents, all) };
  });
}

async function look(client: AzureClient, { pool, ...names }: PoolNames) {
  const found = await client.findPool(pool);
  return found && { ...names, id: found.id, name: found.name, agents: await everyAgent(client, found.id) };
}

/** With its last job: one that has run another by the second look is alive. */
function everyAgent(client: AzureClient, poolId: number) {
  return client.listAgents(poolId, { lastCompleted: true });
}

export interface Pruned {
  readonly pool: string;
  readonly agent: string;
  readonly removed: boolean;
  /** Why it was left, when it was. */
  readonly why?: string;
}

/** Waits, looks again, and removes what both looks found. The server refuses what has a job by then. */
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
      const why = alive ? 'it was used meanwhile' : 'it is running a job';
      results.push({ pool, agent: leftover.name, removed, ...(removed ? {} : { why }) });
    }
  }
  return results;
}

/** What one host may have in the pool. */
export interface OwnNames {
  readonly host: string;
  /** `{host}-{slot}` with the host filled in: `h200-1-{slot}`. */
  readonly template: string;
  /** The agents that shall be there; undefined while that is not known (GPUs not counted yet). */
  readonly wanted: ReadonlySet<string> | undefined;
  /**
   * Owners of its agents in other pools. Given, it has no slot in this one now, and only what one of these has left
   * counts: the name alone may be somebody else's.
   */
  readonly owners?: ReadonlySet<string>;
}

/** An entry of the pool that nobody will use again. */
export interface Leftover {
  readonly id: number;
  readonly name: string;
  readonly host: string;
  readonly owner: string;
  /** The last job it ran; a change between two looks means that it lives. */
  readonly lastRequest: number | undefined;
}

/**
 * Agents that can be removed, as far as one look tells: registered by azp-fleet, named as a slot of one of these hosts
 * that is not wanted any more, by the same owner as that host's other agents, offline, and without a job.
 */
export function leftovers(agents: readonly AzureAgent[], hosts: readonly OwnNames[]): readonly Leftover[] {
  const owned = agents.flatMap((agent) => {
    const owner = agent.userCapabilities?.[Capabilities.owner];
    return owner === undefined ? [] : [{ agent, owner }];
  });
  const spoken = new Set(hosts.flatMap(({ wanted }) => [...(wanted ?? [])]));
  return hosts.flatMap(({ host, template, wanted, owners: elsewhere }) => {
    if (wanted === undefined) return [];
    const here = ownersOf(agents, wanted);
    const theirs = (owner: string) =>
      elsewhere === undefined ? here.size === 0 || here.has(owner) : elsewhere.has(owner);
    return owned
      .filter(({ agent, owner }) => {
        const surplus = isSlotOf(template, agent.name) && !spoken.has(agent.name);
        const idle = agent.status === 'offline' && agent.assignedRequest === undefined;
        return surplus && idle && theirs(owner);
      })
      .map(({ agent: { id, name, lastCompletedRequest }, owner }) => ({
        id,
        name,
        host,
        owner,
        lastRequest: lastCompletedRequest?.requestId,
      }));
  });
}

/** Who has registered agents of these names. */
export function ownersOf(agents: readonly AzureAgent[], names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(
    agents.flatMap(({ name, userCapabilities }) =>
      names.has(name) ? (userCapabilities?.[Capabilities.owner] ?? []) : [],
    ),
  );
}

/** Slots without a dash only: `gpu-2-0` is slot 0 of host gpu-2 and none of host gpu. */
function isSlotOf(template: string, name: string): boolean {
  const [before = '', after = ''] = template.split('{slot}');
  const fits = name.startsWith(before) && name.endsWith(after);
  return fits && /^[^-]+$/u.test(name.slice(before.length, name.length - after.length));
}

/** Those of the first look that the second one confirms. */
export function confirmed(first: readonly Leftover[], second: readonly Leftover[]): readonly Leftover[] {
  return first.filter(({ id, lastRequest, owner }) =>
    second.some((each) => each.id === id && each.lastRequest === lastRequest && each.owner === owner),
  );
}
