import pLimit from 'p-limit';

import { FleetError } from '../../shared/base/errors.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { statusOf } from '../facts/unread.ts';
import { valueOf } from '../../shared/base/reading.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { agentsOf, poolsInUse } from '../../shared/contract/status.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { desiredNames } from '../plan/held-names.ts';
import { sameMachines } from '../plan/same-machine.ts';
import { waveFleet } from '../plan/wave-fleet.ts';
import { knownPools, laterPools } from '../steps/pool-names.ts';
import { judge } from '../verdict/judge.ts';
import { HostConnection, readFacts } from './connection.ts';
import type { ApplyTools, HostTools } from './apply-tools.ts';
import { factsAfterChanges, changesInProgress } from './resume.ts';
import { failure, type HostOutcome } from './outcome.ts';
import { askPackages, planToAnnounce } from './plan-host.ts';

/** A host that was reached and read. */
export interface Reached {
  readonly host: HostSpec;
  readonly connection: HostConnection;
  readonly facts: GatheredFacts;
  /** Of its package manager; undefined: not asked yet. */
  readonly answers?: NonNullable<HostPlan['packages']>;
}

/** A host that was also planned. */
export interface Survey extends Reached {
  readonly plan: HostPlan;
}

/** The survey of several hosts. */
export interface HostsSurvey {
  readonly hosts: readonly Survey[];
  /** Hosts that could not be reached, read or planned. */
  readonly failures: readonly HostOutcome[];
}

export interface ReachOptions {
  /**
   * The run changes hosts: it waits for changes of an earlier run that still run, and connections stay open. Otherwise each host
   * is also asked what its plan needs, and its connection is closed, so that a fleet of any size needs few at a time.
   */
  readonly follow: boolean;
}

/**
 * Connects to all hosts at the same time and reads them; returns them in the hosts' order. With `follow` the caller closes the
 * connections. A failure concerns only its host, and is reported before this resolves. Several names of one machine fail together.
 */
export async function reachHosts(
  hosts: readonly HostSpec[],
  tools: HostTools,
  options: ReachOptions,
): Promise<readonly (Reached | HostOutcome)[]> {
  tools.emit({ kind: 'phase', phase: 'facts' });
  const limit = pLimit(tools.options.parallel);
  const found = await Promise.all(hosts.map((host) => limit(() => reachOrFail(host, tools, options))));
  const twins = sameMachines(found.filter((each) => 'facts' in each));
  return Promise.all(
    found.map(async (each) => {
      const problem = 'facts' in each ? twins.get(each.host.name) : undefined;
      if (!('facts' in each) || problem === undefined) return each;
      await each.connection.close();
      return failed(each.host, new FleetError(problem), tools);
    }),
  );
}

/** Reaches and plans hosts. The caller closes the connections. `look`: reads what the plans need besides facts. */
export async function surveyHosts(
  hosts: readonly HostSpec[],
  tools: ApplyTools,
  options: ReachOptions,
  look?: (reached: readonly Reached[]) => Promise<void>,
): Promise<HostsSurvey> {
  const found = await reachHosts(hosts, tools, options);
  try {
    await look?.(found.filter((each) => 'facts' in each));
  } catch (error) {
    for (const each of found) if ('facts' in each) await each.connection.close();
    throw error;
  }
  return planReached(found, tools);
}

/** Plans the reached hosts. A failure concerns only its host, and is reported before this resolves. */
export async function planReached(
  found: readonly (Reached | HostOutcome)[],
  tools: ApplyTools,
): Promise<HostsSurvey> {
  tools.emit({ kind: 'phase', phase: 'plan' });
  const limit = pLimit(tools.options.parallel);
  const planned = await Promise.all(
    found.map((each) => limit(async () => ('facts' in each ? planOrFail(each, tools) : each))),
  );
  return {
    hosts: planned.filter((each): each is Survey => 'plan' in each),
    failures: planned.filter((each): each is HostOutcome => 'state' in each),
  };
}

async function planOrFail(reached: Reached, tools: ApplyTools): Promise<Survey | HostOutcome> {
  try {
    tools.signal.throwIfAborted();
    const planned = { ...reached, plan: await planToAnnounce(reached, tools) };
    // As in tryAlone: first this host alone, later all hosts together.
    waveFleet({
      hosts: [reached.host],
      seen: [planned],
      unread: [],
      unprovable: () => undefined,
      command: tools.command,
    });
    return planned;
  } catch (error) {
    if (tools.signal.aborted) throw error;
    await reached.connection.close();
    return failed(reached.host, error, tools);
  }
}

async function reachOrFail(
  host: HostSpec,
  tools: HostTools,
  options: ReachOptions,
): Promise<Reached | HostOutcome> {
  try {
    tools.signal.throwIfAborted();
    const reached = await reachHost(host, tools, options);
    tryAlone(reached);
    tools.emit({ kind: 'host-state', host: host.name, state: 'planned' });
    return reached;
  } catch (error) {
    if (tools.signal.aborted) throw error;
    return failed(host, error, tools);
  }
}

/** Runs on one host what later runs on all together, so that a bug fails only this host. */
function tryAlone({ host, facts }: Reached): void {
  const status = valueOf(statusOf(facts));
  knownPools(host, facts);
  laterPools(host, facts);
  desiredNames(host, facts);
  if (status !== undefined) for (const pool of poolsInUse(status)) agentsOf(status, pool);
  judge({ host: host.name, facts, agentsIn: () => undefined, now: Date.parse(status?.at ?? '') });
}

/** Reports a host that could not be reached, read or planned. */
function failed({ name }: HostSpec, error: unknown, tools: HostTools): HostOutcome {
  const outcome = failure(name, error, tools.log);
  if (outcome.problem !== undefined) tools.emit({ kind: 'problem', problem: outcome.problem });
  tools.emit({ kind: 'host-state', host: name, state: outcome.state });
  return outcome;
}

/** Connects and gathers facts, without changes. With `follow`, waits for a change that still runs. */
async function reachHost(host: HostSpec, tools: HostTools, options: ReachOptions): Promise<Reached> {
  const connection = new HostConnection(host, tools);
  const { name } = host;
  try {
    tools.emit({ kind: 'host-state', host: name, state: 'connecting' });
    await connection.session();
    tools.emit({ kind: 'host-state', host: name, state: 'reading' });
    let facts = await readFacts(connection, host, tools);
    let changes = changesInProgress(facts);
    if (options.follow && changes.kind === 'value' && changes.value.length > 0) {
      // Rejects with the holder's name if another run still has the lock.
      await connection.lock();
      facts = await factsAfterChanges(connection, host, tools);
      await connection.unlock();
      changes = changesInProgress(facts);
    }
    const note = (text: string) => tools.emit({ kind: 'note', host: name, text });
    // The plan then changes nothing.
    if (changes.kind === 'unknown')
      note(`whether a change of an earlier run still runs on the host is unknown: ${changes.why}`);
    else
      for (const { title, owner } of changes.value)
        note(`"${title}", started by ${owner}, runs on the host: its result is not shown yet`);
    const reached = { host, connection, facts };
    if (options.follow) return reached;
    const answers = await askPackages(reached, tools, {}, 'reading');
    await connection.close();
    return { ...reached, answers };
  } catch (error) {
    await connection.close();
    throw error instanceof FleetError ? error.at({ host: name }) : error;
  }
}
