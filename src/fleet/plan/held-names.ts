import {
  heldDetail,
  heldLine,
  heldNext,
  holderOf,
  mayBeTakenOver,
  type Holder,
  type PooledAgent,
} from '../../shared/contract/holder.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import { agentName, poolOfSlot, slotNames } from '../../shared/contract/slots.ts';
import type { Problem } from '../../shared/base/errors.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { reading } from '../facts/unread.ts';
import { foldNames } from '../inventory/fold-names.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { knownPools, withPoolNames } from '../steps/pool-names.ts';
import type { FleetPlan } from './fleet-plan.ts';
import type { FleetChange } from './pools.ts';

/** An agent name that a host should have in a pool. */
export interface DesiredName {
  readonly slot: string;
  readonly agent: string;
  readonly pool: string;
}

/** The desired agent names of one host. */
export interface DesiredNames {
  readonly host: string;
  /** The owner of the agents that this host registers; undefined: a new one. */
  readonly owner: string | undefined;
  readonly names: readonly DesiredName[];
}

/** Agent names that a host should have and one other owner has. */
export interface HeldNames {
  readonly host: string;
  readonly pool: string;
  readonly names: readonly DesiredName[];
  readonly holder: Holder;
  /** The owner's other agents in the pool: if one of them is online, the owner still runs. */
  readonly others: readonly string[];
}

/** States of slots that have registered their agent. */
const working: readonly string[] = ['idle', 'busy', 'stopping'];

/**
 * Returns the desired agent names of a host in known pools, without those that its manager has registered already; none where its
 * GPUs or its manager could not be read. Pure.
 */
export function desiredNames(host: HostSpec, facts: GatheredFacts): readonly DesiredName[] {
  const read = reading(facts, 'gpus', 'manager');
  if (read.kind === 'unknown') return [];
  const { gpus, manager } = read.value;
  const named = withPoolNames({ ...host, gpus: Math.max(host.gpus ?? 0, gpus.length) }, facts);
  const pools = knownPools(host, facts);
  const own = (manager.status?.slots ?? [])
    .filter(({ state }) => working.includes(state))
    .map(({ agent, pool }) => key(pool, agent));
  return slotNames(named)
    .map((slot) => ({ slot, agent: agentName(named, slot), pool: poolOfSlot(named, slot) }))
    .filter(({ agent, pool }) => pools.includes(pool) && !own.includes(key(pool, agent)));
}

/** Returns a name as the server compares it. */
function key(pool: string, agent: string): string {
  return `${pool}/${agent}`.toLowerCase();
}

/**
 * Returns the names that other owners have, one entry for each owner. `agentsIn`: all current agents of a pool; none if it could not
 * be listed. Pure.
 */
export function heldNames(
  { host, owner, names }: DesiredNames,
  agentsIn: (pool: string) => readonly PooledAgent[],
  now: Parameters<typeof holderOf>[3],
): readonly HeldNames[] {
  return [...Map.groupBy(names, ({ pool }) => pool)].flatMap(([pool, desired]) => {
    const agents = agentsIn(pool);
    const foreign = desired.flatMap((name) => {
      const agent = agents.find((each) => each.name.toLowerCase() === name.agent.toLowerCase());
      if (agent === undefined || (owner !== undefined && ownerOf(agent) === owner)) return [];
      return [{ name, agent }];
    });
    const owners = Map.groupBy(foreign, ({ agent }) => ownerOf(agent) ?? agent);
    return [...owners.values()].map((held) => {
      const theirs = held.map(({ agent }) => agent);
      const holder = theirs[0] && ownerOf(theirs[0]);
      const others = agents.filter(
        (agent) => holder !== undefined && ownerOf(agent) === holder && !theirs.includes(agent),
      );
      return {
        host,
        pool,
        names: held.map(({ name }) => name),
        holder: holderOf(theirs, others, host, now),
        others: others.map(({ name }) => name),
      };
    });
  });
}

function ownerOf({ userCapabilities }: PooledAgent): string | undefined {
  return userCapabilities?.[Capabilities.owner];
}

/** Returns the take-overs that the plan offers: of names whose owner is offline. Pure. */
export function planTakeOvers(held: readonly HeldNames[]): readonly FleetChange[] {
  return held.filter(({ holder }) => mayBeTakenOver(holder)).map(takeOver);
}

/** Returns the change that takes over these names. Its id has the owner: with another owner it is another change. Pure. */
function takeOver({ host, pool, names, holder }: HeldNames): FleetChange {
  const agents = names.map(({ agent }) => agent);
  const slots = names.map(({ slot }) => slot);
  return {
    id: `agent.take-over.${pool}.${agents.join('+')}.${holder.owner ?? 'nobody'}`,
    title: `take over ${agents.length === 1 ? 'agent' : 'agents'} ${foldNames(agents)} in pool ${pool} for ${host}`,
    why: `${heldLine(holder)}; only after confirmation or with --adopt`,
    action: { kind: 'take-over', pool, host, slots },
  };
}

/** Tells whether the owner is offline and exactly this take-over was confirmed. Pure. */
export function mayBeTaken(held: HeldNames, agreed: ReadonlySet<string>): boolean {
  return mayBeTakenOver(held.holder) && agreed.has(takeOver(held).id);
}

/** Tells whether the plan has no other changes. Pure. */
export function hasOnlyTakeOvers({ fleet, hosts }: FleetPlan): boolean {
  const isAll = fleet.every(({ action }) => action.kind === 'take-over');
  return isAll && hosts.every(({ stages }) => stages.length === 0);
}

/** Returns the problem of a host that does not get these names. Pure. */
export function heldProblem({ host, pool, holder }: HeldNames): Problem {
  return {
    code: 'agent.name-held',
    host,
    step: 'manager',
    what: heldLine(holder),
    seen: heldDetail(holder, pool),
    next: heldNext(holder, host),
  };
}

/** Returns the problems of names whose owner still runs. Pure. */
export function refusedTakeOvers(held: readonly HeldNames[]): readonly Problem[] {
  return held.filter(({ holder }) => !mayBeTakenOver(holder)).map(heldProblem);
}
