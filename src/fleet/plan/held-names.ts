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
import type { Facts } from '../facts/facts.ts';
import { foldNames } from '../inventory/fold-names.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { knownPools, withPoolNames } from '../steps/pool-names.ts';
import type { FleetPlan } from './fleet-plan.ts';
import type { FleetChange } from './pools.ts';

/** A name that a host is to have in a pool. */
export interface WantedName {
  readonly slot: string;
  readonly agent: string;
  readonly pool: string;
}

/** What one host wants. */
export interface WantedNames {
  readonly host: string;
  /** The mark of the agents that this host registers; undefined: it will be a new one. */
  readonly owner: string | undefined;
  readonly names: readonly WantedName[];
}

/** Names that a host is to have and one other owner has. */
export interface HeldNames {
  readonly host: string;
  readonly pool: string;
  readonly names: readonly WantedName[];
  readonly holder: Holder;
  /** The owner's other agents in the pool: one of them online means that it lives. */
  readonly others: readonly string[];
}

/** Slots in these states have registered their agent themselves. */
const working: readonly string[] = ['idle', 'busy', 'stopping'];

/**
 * The names of a host's agents in pools that are known, without those that its manager shows at work: these are its own.
 * Pure.
 */
export function wantedNames(host: HostSpec, facts: Facts): readonly WantedName[] {
  const named = withPoolNames({ ...host, gpus: Math.max(host.gpus ?? 0, facts.gpus.length) }, facts);
  const pools = knownPools(host, facts);
  const { status } = facts.manager;
  const own = (status?.slots ?? [])
    .filter(({ state }) => working.includes(state))
    .map(({ agent, pool }) => key(pool, agent));
  return slotNames(named)
    .map((slot) => ({ slot, agent: agentName(named, slot), pool: poolOfSlot(named, slot) }))
    .filter(({ agent, pool }) => pools.includes(pool) && !own.includes(key(pool, agent)));
}

/** Names as the server compares them. */
function key(pool: string, agent: string): string {
  return `${pool}/${agent}`.toLowerCase();
}

/**
 * Which of the names somebody else has, one entry for each owner. `agentsIn`: all agents of a pool as they are now; none
 * where it could not be listed. Pure.
 */
export function heldNames(
  { host, owner, names }: WantedNames,
  agentsIn: (pool: string) => readonly PooledAgent[],
  now: Parameters<typeof holderOf>[3],
): readonly HeldNames[] {
  return [...Map.groupBy(names, ({ pool }) => pool)].flatMap(([pool, wanted]) => {
    const agents = agentsIn(pool);
    const foreign = wanted.flatMap((name) => {
      const agent = agents.find((each) => each.name.toLowerCase() === name.agent.toLowerCase());
      if (agent === undefined || (owner !== undefined && ownerOf(agent) === owner)) return [];
      return [{ name, agent }];
    });
    const owners = Map.groupBy(foreign, ({ agent }) => ownerOf(agent) ?? agent);
    return [...owners.values()].map((held) => {
      const theirs = held.map(({ agent }) => agent);
      const mark = theirs[0] && ownerOf(theirs[0]);
      const others = agents.filter(
        (agent) => mark !== undefined && ownerOf(agent) === mark && !theirs.includes(agent),
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

/** What is offered: names whose owner is gone. Pure. */
export function planTakeOvers(held: readonly HeldNames[]): readonly FleetChange[] {
  return held.filter(({ holder }) => mayBeTakenOver(holder)).map(takeOver);
}

/** The change that gives these names to the host. Another owner than the one that was seen is another change. Pure. */
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

/** Its owner is gone, and this very change was agreed to. Pure. */
export function mayBeTaken(held: HeldNames, agreed: ReadonlySet<string>): boolean {
  return mayBeTakenOver(held.holder) && agreed.has(takeOver(held).id);
}

/** Nothing else is to be done, anywhere. Pure. */
export function hasOnlyTakeOvers({ fleet, hosts }: FleetPlan): boolean {
  const isAll = fleet.every(({ action }) => action.kind === 'take-over');
  return isAll && hosts.every(({ stages }) => stages.length === 0);
}

/** Why a host does not get these names. Pure. */
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

/** What is refused: names whose owner lives. Pure. */
export function refusedTakeOvers(held: readonly HeldNames[]): readonly Problem[] {
  return held.filter(({ holder }) => !mayBeTakenOver(holder)).map(heldProblem);
}
