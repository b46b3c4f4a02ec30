import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { mayBecome, placeholdersIn } from '../inventory/pool-pattern.ts';
import type { HostPlan } from './fleet-plan.ts';
import { disturbsAgents, needsDrain } from './refine.ts';
import type { Pools, WaveFleet } from './waves.ts';
import { knownPools } from '../steps/pool-names.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { poolsOf } from '../../shared/contract/slots.ts';

/** A host that was read, and what is to be done on it. */
interface Seen {
  readonly host: HostSpec;
  readonly facts: Facts;
  readonly plan: HostPlan;
}

/** What a run found before it changes anything. */
export interface Found {
  /** Of the whole inventory. */
  readonly hosts: readonly HostSpec[];
  readonly seen: readonly Seen[];
  /** Names of hosts that could not be read. */
  readonly unread: readonly string[];
  /** Why a host cannot be proven afterwards, if so. */
  readonly unprovable: (seen: Seen) => Problem | undefined;
}

/**
 * The fleet as waves mind it. Hosts that the run does not look at count as in work, hosts that could not be read as
 * down, and hosts that never had a manager do not count. Pure.
 */
export function waveFleet({ hosts, seen, unread, unprovable }: Found): WaveFleet {
  const read = new Map(seen.map((each) => [each.host.name, each]));
  const takesAway = seen.filter(({ facts, plan }) => isDisturbed(plan) && hasAgents(facts));
  const problems = new Map(takesAway.map((each) => [each, unprovable(each)]));
  const pending = takesAway.filter((each) => problems.get(each) === undefined);
  const waits = new Set(takesAway);
  const down = seen.filter(({ facts }) => isInstalled(facts) && !takesJobs(facts));
  const unproven = seen.filter(
    (each) => !waits.has(each) && each.plan.refusals.length === 0 && leftDrained(each.facts),
  );
  return {
    pools: poolMembers(hosts, read),
    down: new Set([...down.map(({ host }) => host.name), ...unread]),
    // Where an earlier run was cut off this one goes on first.
    pending: [...pending.filter(isCutOff), ...pending.filter((each) => !isCutOff(each))].map(pendingOf),
    mending: new Set(
      down
        .filter((each) => !waits.has(each) && each.plan.refusals.length === 0 && isWork(each.plan))
        .map(({ host }) => host.name),
    ),
    unproven: unproven.map(({ host }) => host.name),
    barred: takesAway.flatMap((each) => {
      const problem = problems.get(each);
      const { what, next = 'run it again when that is mended' } = problem ?? { what: '' };
      return problem === undefined ? [] : [{ host: each.host.name, what, next }];
    }),
  };
}

function isDisturbed({ stages, refusals }: HostPlan): boolean {
  return refusals.length === 0 && needsDrain(stages.flat());
}

function isWork({ stages }: HostPlan): boolean {
  return stages.length > 0;
}

function isCutOff({ facts }: Seen): boolean {
  return leftDrained(facts);
}

/** Hosts are alike that have the same system and the same GPUs, and are disturbed by the same steps. */
function pendingOf({ host, facts, plan }: Seen): WaveFleet['pending'][number] {
  const steps = plan.stages
    .flat()
    .filter(disturbsAgents)
    .map(({ step }) => step);
  const gpus = facts.gpus.map(({ deviceId }) => deviceId).sort();
  const { id, versionId } = facts.os;
  return {
    host: host.name,
    kind: JSON.stringify([id, versionId, facts.arch, gpus, [...new Set(steps)]]),
    ...defined({ builder: host.dockerfile?.builder }),
    builds: host.dockerfile?.builder === host.name,
  };
}

/** Which hosts are in which pool; pools are the same whatever the case of their names. */
function poolMembers(hosts: readonly HostSpec[], read: ReadonlyMap<string, Seen>): Pools {
  const members = new Map<string, { readonly pool: string; readonly hosts: Set<string> }>();
  const patterns: { readonly pattern: string; readonly host: string }[] = [];
  for (const host of hosts) {
    const seen = read.get(host.name);
    for (const pool of seen === undefined ? poolsOf(host) : servedPools(seen)) {
      const key = pool.toLowerCase();
      if (placeholdersIn(pool).length > 0) patterns.push({ pattern: pool, host: host.name });
      else
        members
          .set(key, members.get(key) ?? { pool, hosts: new Set() })
          .get(key)
          ?.hosts.add(host.name);
    }
  }
  for (const { pattern, host } of patterns)
    for (const { pool, hosts: all } of members.values()) if (mayBecome(pattern, pool)) all.add(host);
  return new Map([...members.values()].map((each) => [each.pool, [...each.hosts]]));
}

/** Where its agents are now, and where they will be. */
function servedPools({ host, facts }: Seen): readonly string[] {
  if (!isInstalled(facts)) return [];
  const { status } = facts.manager;
  const now = status === undefined ? [] : status.pools.map(({ name }) => name);
  return [...new Set([...now, ...knownPools(host, facts)])];
}

const open = ['starting', 'idle', 'busy', 'stopping'];
const closed = ['drained', 'quarantined'];

/** A run has drained the host and was cut off before it gave the agents back. */
export function leftDrained({ manager }: Facts): boolean {
  return manager.unitActive === 'active' && runDrains(manager.status).length > 0;
}

/** A manager is on the host, whatever it does: one that never was there is no loss to its pool. */
export function isInstalled({ manager }: Facts): boolean {
  return manager.current !== undefined || manager.unitActive === 'active';
}

/** The host's agents take jobs, or would if the server answered. Those of a manager that cannot be read may do so. */
export function takesJobs({ manager: { unitActive, status } }: Facts): boolean {
  if (unitActive !== 'active') return false;
  if (status === undefined) return true;
  const serverAway = status.pools.every(({ up }) => !up);
  return status.slots.some(({ state }) => open.includes(state) || (serverAway && !closed.includes(state)));
}

/**
 * A change of the host takes agents away: somebody may have drained all of them, or they may be broken, and then it does
 * not. What a run has drained that was cut off counts as in work: nobody meant it to stay so.
 */
export function hasAgents(facts: Facts): boolean {
  const { unitActive, status } = facts.manager;
  if (unitActive !== 'active') return false;
  if (status === undefined || leftDrained(facts)) return true;
  return status.slots.length === 0 || status.slots.some(({ state }) => !closed.includes(state));
}

/** It has booted after a run that was cut off had drained it. All by the host's own clock. */
export function rebootedSinceDrain({ manager: { status }, uptimeS }: Facts): boolean {
  if (status === undefined || uptimeS === undefined) return false;
  // The status is older than the facts, so that the boot was no earlier than this.
  const booted = Date.parse(status.at) - uptimeS * 1000;
  return runDrains(status).some(({ at }) => Date.parse(at) < booted);
}

function runDrains(status: Facts['manager']['status']) {
  return status?.drains.filter(({ run }) => run !== undefined) ?? [];
}
