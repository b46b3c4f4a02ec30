import type { GatheredFacts } from '../facts/facts.ts';
import { installedManager, reading, statusOf, unreadOf } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { mayBecome, placeholdersIn } from '../inventory/pool-pattern.ts';
import type { HostPlan } from './fleet-plan.ts';
import { disturbsAgents, needsDrain } from './refine.ts';
import type { Pools, WaveFleet } from './waves.ts';
import { knownPools } from '../steps/pool-names.ts';
import { type DrainCommand, isResumedBy } from '../../shared/contract/drain.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';

/** A host that was read, with its plan. */
interface Seen {
  readonly host: HostSpec;
  readonly facts: GatheredFacts;
  readonly plan: HostPlan;
}

/** The hosts as a run found them, before any change. */
export interface Found {
  /** All hosts of the inventory. */
  readonly hosts: readonly HostSpec[];
  readonly seen: readonly Seen[];
  /** Names of hosts that could not be read. */
  readonly unread: readonly string[];
  /** Of the run. */
  readonly command: DrainCommand;
  /** Hosts whose agents keep running wait for a wave, too: a change that fails on the first host reaches no other. */
  readonly everyChange?: true;
  /** Returns why a host cannot be proven afterwards, if so. */
  readonly unprovable: (seen: Seen) => Problem | undefined;
}

/**
 * Returns the fleet for planning waves. Hosts outside the run count as available, hosts or managers that could not be read as down, and hosts that never had
 * a manager do not count. Pure.
 */
export function waveFleet({ hosts, seen, unread, unprovable, command, everyChange }: Found): WaveFleet {
  const dark = seen.filter(({ facts }) => unreadOf(facts, 'manager').length > 0);
  const read = new Map(seen.flatMap((each) => (dark.includes(each) ? [] : [[each.host.name, each]])));
  const toDrain = seen.filter(
    ({ facts, plan }) =>
      (isDisturbed(plan) && hasAgents(facts, command)) ||
      (everyChange === true && isWork(plan) && plan.refusals.length === 0),
  );
  const problems = new Map(toDrain.map((each) => [each, unprovable(each)]));
  const pending = toDrain.filter((each) => problems.get(each) === undefined);
  const isCutOff = ({ facts }: Seen) => leftDrained(facts, command);
  const waits = new Set(toDrain);
  const down = seen.filter(({ facts }) => isInstalled(facts) && !takesJobs(facts));
  const unproven = seen.filter(
    (each) => !waits.has(each) && each.plan.refusals.length === 0 && leftDrained(each.facts, command),
  );
  return {
    pools: poolMembers(hosts, read),
    down: new Set([...[...down, ...dark].map(({ host }) => host.name), ...unread]),
    // Hosts of an interrupted run come first.
    pending: [...pending.filter(isCutOff), ...pending.filter((each) => !isCutOff(each))].map(pendingOf),
    recovering: new Set(
      down
        .filter((each) => !waits.has(each) && each.plan.refusals.length === 0 && isWork(each.plan))
        .map(({ host }) => host.name),
    ),
    unproven: unproven.map(({ host }) => host.name),
    barred: toDrain.flatMap((each) => {
      const problem = problems.get(each);
      const { what, next = 'fix it, then run it again' } = problem ?? { what: '' };
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

/** Returns a pending host. Hosts of one kind have the same system and GPUs, and are disturbed by the same steps. */
function pendingOf({ host, facts, plan }: Seen): WaveFleet['pending'][number] {
  const steps = plan.stages
    .flat()
    .filter(disturbsAgents)
    .map(({ step }) => step);
  const gpus = valueOf(reading(facts, 'gpus'))
    ?.gpus.map(({ deviceId }) => deviceId)
    .sort();
  const { id, versionId } = facts.os;
  return {
    host: host.name,
    kind: JSON.stringify([id, versionId, facts.arch, gpus, [...new Set(steps)]]),
    ...defined({ builder: host.dockerfile?.builder }),
    builds: host.dockerfile?.builder === host.name,
  };
}

/** Returns the hosts of each pool. Pool names are compared without case. */
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

/** Returns the pools where its agents are now, and where they will be. */
function servedPools({ host, facts }: Seen): readonly string[] {
  if (!isInstalled(facts)) return [];
  const status = valueOf(statusOf(facts));
  const now = status === undefined ? [] : status.pools.map(({ name }) => name);
  return [...new Set([...now, ...knownPools(host, facts)])];
}

const open = ['starting', 'idle', 'busy', 'stopping'];
const closed = ['drained', 'quarantined'];

/** Tells whether an interrupted run left the host drained that a run of this command resumes. */
export function leftDrained(facts: GatheredFacts, command: DrainCommand): boolean {
  return isActive(facts) && resumable(valueOf(statusOf(facts)), command).length > 0;
}

/** Tells whether the host has a manager, in any state. A host without one is not missed in its pool. */
export function isInstalled(facts: GatheredFacts): boolean {
  return valueOf(installedManager(facts))?.current !== undefined || mayRun(facts);
}

/** Tells whether the manager runs, or may run because its unit could not be read. */
export function mayRun(facts: GatheredFacts): boolean {
  return isActive(facts) || installedManager(facts).kind === 'unknown';
}

function isActive(facts: GatheredFacts): boolean {
  return valueOf(installedManager(facts))?.unitActive === 'active';
}

/** Tells whether the host's agents take jobs, or would if the server answered. Agents of an unreadable manager may. */
export function takesJobs(facts: GatheredFacts): boolean {
  if (!isActive(facts)) return false;
  const status = valueOf(statusOf(facts));
  if (status === undefined) return true;
  const serverAway = status.pools.every(({ up }) => !up);
  return status.slots.some(({ state }) => open.includes(state) || (serverAway && !closed.includes(state)));
}

/**
 * Tells whether a drain makes agents unavailable: not if all are drained or quarantined. Agents that this run enables
 * again, after an interrupted one, count as available.
 */
export function hasAgents(facts: GatheredFacts, command: DrainCommand): boolean {
  if (!mayRun(facts)) return false;
  const status = valueOf(statusOf(facts));
  if (status === undefined || leftDrained(facts, command)) return true;
  return status.slots.length === 0 || status.slots.some(({ state }) => !closed.includes(state));
}

/** Tells whether the host booted after an interrupted `reboot` had drained it. All times are of the host's clock. */
export function rebootedSinceDrain(facts: GatheredFacts): boolean {
  const status = valueOf(statusOf(facts));
  const { uptimeS } = facts;
  if (status === undefined || uptimeS === undefined) return false;
  // The status is older than the facts, so that the boot was no earlier than this.
  const booted = Date.parse(status.at) - uptimeS * 1000;
  return resumable(status, 'reboot').some(({ at }) => Date.parse(at) < booted);
}

function resumable(status: ManagerStatus | undefined, command: DrainCommand) {
  return status?.drains.filter((drain) => isResumedBy(command, drain)) ?? [];
}
