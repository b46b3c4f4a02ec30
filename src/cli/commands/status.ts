import { resolve } from 'node:path';

import { planFleetPools } from '../../fleet/apply/pools.ts';
import { namedSlots } from '../../fleet/client/named-slots.ts';
import { statusOf } from '../../fleet/facts/unread.ts';
import { plainPools } from '../../fleet/inventory/pool-pattern.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { readTargets, type Targets } from '../../fleet/inventory/select.ts';
import { sameMachines } from '../../fleet/plan/same-machine.ts';
import {
  agentsToFind,
  joined,
  listPools,
  observeHosts,
  type PoolQueue,
  poolsSeen,
  describeEach,
} from '../../fleet/status/collect.ts';
import { driftOf, type DriftRow } from '../../fleet/status/drift.ts';
import { type HostDetail, hostDetail } from '../../fleet/status/detail.ts';
import {
  jobsView,
  type JobsView,
  type Observation,
  statusExitCode,
  statusRow,
  type StatusRow,
} from '../../fleet/status/row.ts';
import { knownPools } from '../../fleet/steps/pool-names.ts';
import { isSilent } from '../../fleet/verdict/manager.ts';
import { supportOnHost } from '../../fleet/status/support.ts';
import { readParallelJobs } from '../../shared/azure/parallel-jobs.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError, type Problem, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { quote } from '../../shared/base/shell.ts';
import type { SlotStatus } from '../../shared/contract/status.ts';
import type { CommandInput } from '../command.ts';
import { checkExitCode, checkText } from '../render/check.ts';
import { painter } from '../render/color.ts';
import { hostScreen } from '../render/host-status.ts';
import { hostCounts, statusText } from '../render/status.ts';
import { statusPage } from '../render/status-page.ts';
import { jobsTrouble } from '../render/trouble.ts';
import type { Result } from '../result.ts';
import { openFleet, type OpenFleet, openForPlan, withFleet } from '../run/fleet.ts';
import type { Connected } from '../run/hosts.ts';
import { openPlanning } from '../run/planning.ts';
import { replaceFile } from '../run/replace-file.ts';
import { watch } from '../watch/watch.ts';

/** Shows the state of every host. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const targets = readTargets(input.positionals);
  const isCheck = options.flag('check');
  if (isCheck && options.flag('drift')) throw checkWithDrift();
  if (options.flag('watch')) {
    refuseWithWatch(input, targets);
    return watch(context, { ...input, positionals: targets.hosts });
  }
  const show = async (open: OpenFleet & Connected): Promise<Result> => {
    const { hosts, transport, emit } = open;
    const page = options.string('html');
    const plain = plainPools(hosts);
    const observing = observeHosts(hosts, {
      transport,
      root: context.root,
      emit,
      log: context.log,
      clock: context.clock,
      signal: context.signal,
      parallel: options.integer('parallel', { min: 1, max: 1000 }) ?? 50,
      probe: probeOf(options),
      history: page !== undefined,
    });
    const wanted = async (pool: string) => agentsToFind(await observing, pool);
    const [observations, listed, jobs] = await Promise.all([
      observing,
      listPools(open.azure, plain, wanted, context.clock.wall()),
      readParallelJobs(open.azure, context.log),
    ]);
    const now = context.clock.wall();
    const others = observations.flatMap(poolsSeen).filter((name) => !plain.includes(name));
    const pools = joined(listed, await listPools(open.azure, others, wanted, now));
    const drift = options.flag('drift') ? await findDrift(context, input, open, observations) : undefined;
    const named = namedStates(observations, targets, now);
    const isAlone = namesOneHost(targets, hosts);
    const { rows, problems } = describeEach(observations, context.log, (observation): ShownRow => {
      const row = statusRow(observation, (pool) => pools.agents.get(pool), now);
      const { facts } = observation;
      const more = {
        drift: drift?.hosts.get(row.host),
        named: named.slots.get(row.host),
        support: facts && supportOnHost(facts, now),
        detail: isAlone ? hostDetail(observation, (pool) => pools.agents.get(pool), now) : undefined,
      };
      return { ...row, ...defined(more) };
    });
    const fleetDrift = drift?.fleet ?? [];
    const parallelJobs = jobsView(rows, jobs);
    const beside = [
      ...named.problems,
      ...pools.problems,
      ...(drift?.problems ?? []),
      ...duplicateMachines(observations),
    ];
    const exitCode = statusExitCode(rows, {
      strict: options.flag('strict'),
      drift: drift !== undefined,
      fleetDrift: fleetDrift.length > 0,
      problems: beside.length,
    });
    const found: Found = { rows, fleetDrift, keys: drift?.keys ?? [], parallelJobs, queues: pools.queues };
    const isScreen = isAlone && !isCheck && drift === undefined && context.stdout.isTTY === true;
    const [observed] = observations;
    if (page !== undefined) {
      const describe = (each: Observation) => ({
        detail: hostDetail(each, (pool) => pools.agents.get(pool), now),
        ...defined({ history: each.history }),
      });
      const details = describeEach(observations, context.log, describe).rows;
      const shown = rows.flatMap((row, index) =>
        details.slice(index, index + 1).map((more) => ({ row, ...more })),
      );
      replaceFile(resolve(context.cwd, page), statusPage(shown, { ...pageNotes(open, found, beside), now }));
    }
    const shown = (): string => {
      if (page !== undefined) return `wrote ${page}\n\n${hostCounts(rows)}\n`;
      return isScreen
        ? screen(context, open, found, observed?.facts?.time ?? now)
        : text(context, open, found);
    };
    return {
      exitCode: isCheck ? checkExitCode(rows, beside) : exitCode,
      json: {
        hosts: rows,
        fleetDrift,
        driftByKey: drift?.keys ?? null,
        parallelJobs: parallelJobs ?? null,
        queues: pools.queues,
        tokenExpires: open.fleet.credential.expires ?? null,
      },
      problems: [...beside, ...problems],
      text: isCheck ? () => checkText(rows, beside, { counts: hostCounts(rows), details: shown() }) : shown,
      above: beside,
    };
  };
  const hosts = { ...input, positionals: targets.hosts };
  return withFleet(context, hosts, show, options.flag('drift') ? openForPlan : openFleet);
}

/** Returns the requested probe: `--deep` is one, too. */
function probeOf(
  options: CommandInput['options'],
): { readonly deadlineMs: number; readonly deep: boolean } | undefined {
  const deep = options.flag('deep');
  if (!deep && !options.flag('probe')) return undefined;
  return { deadlineMs: options.duration('probeTimeout') ?? 60_000, deep };
}

function checkWithDrift(): FleetError {
  return usageError({
    code: 'usage.arguments',
    what: '--check does not go with --drift: both define the exit code',
    next: 'run two commands',
  });
}

/** Throws for a slot or an option that --watch would ignore. */
function refuseWithWatch({ options }: CommandInput, targets: Targets): void {
  if (targets.hasNames) throw slotWithWatch(targets);
  const other = ['check', 'drift', 'html', 'json', 'probe', 'strict'].find(
    (name) => options.flag(name) || options.string(name) !== undefined,
  );
  if (other === undefined) return;
  throw usageError({
    code: 'usage.arguments',
    what: `--watch does not go with --${other}`,
    next: other === 'json' ? 'for programs run azp-fleet status --json' : `run azp-fleet status --${other}`,
  });
}

function slotWithWatch({ hosts }: Targets): FleetError {
  return usageError({
    code: 'usage.arguments',
    what: '--watch shows whole hosts, not single slots',
    next: `run azp-fleet status --watch ${[...new Set(hosts)].map(quote).join(' ')}`,
  });
}

/** Returns the reports on the slots that the command line names, by host, and a problem for each host without such a slot. */
function namedStates(observations: readonly Observation[], { namesOn }: Targets, now: number) {
  const slots = new Map<string, readonly SlotStatus[]>();
  const problems: Problem[] = [];
  for (const { host, facts } of observations) {
    const names = namesOn(host);
    const status = facts && valueOf(statusOf(facts));
    if (names.length === 0 || status === undefined) continue;
    try {
      const chosen = namedSlots(status, names);
      if (isSilent(status, facts?.time ?? now)) continue;
      slots.set(
        host.name,
        status.slots.filter(({ slot }) => chosen.includes(slot)),
      );
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error.at({ host: host.name }).problem);
    }
  }
  return { slots, problems };
}

/** Returns a problem for each machine that has two names in the inventory. */
function duplicateMachines(observations: readonly Observation[]): readonly Problem[] {
  const seen = observations.flatMap(({ host, facts }) => (facts === undefined ? [] : [{ host, facts }]));
  return [...sameMachines(seen)].map(([host, problem]) => ({ host, ...problem }));
}

interface Drift {
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  readonly fleet: readonly string[];
  readonly keys: readonly DriftRow[];
  /** Problems of hosts whose drift is unknown. */
  readonly problems: readonly Problem[];
}

async function findDrift(
  context: Context,
  input: CommandInput,
  open: OpenFleet & Connected,
  observations: readonly Observation[],
): Promise<Drift> {
  const { tools, desired } = await openPlanning(context, input, open);
  const named = observations.flatMap(({ host, facts }) =>
    facts === undefined ? [] : knownPools(host, facts),
  );
  const pools = [...plainPools(open.hosts), ...named];
  const { changes } = await planFleetPools(open.azure, pools, open.fleet.projects);
  const fleet = changes.map(({ title }) => title);
  return { ...driftOf(observations, { ...tools, desired }), fleet };
}

interface ShownRow extends StatusRow {
  /** Its slots, disks, images and drains; absent: the command line names other hosts, too. */
  readonly detail?: HostDetail;
}

interface Found {
  readonly rows: readonly ShownRow[];
  readonly fleetDrift: readonly string[];
  readonly keys: readonly DriftRow[];
  readonly parallelJobs: JobsView | undefined;
  readonly queues: readonly PoolQueue[];
}

/** Tells whether the command line names exactly one host, by its name and as a whole. */
function namesOneHost({ hosts: [name, ...others], hasNames }: Targets, hosts: readonly HostSpec[]): boolean {
  return others.length === 0 && !hasNames && hosts.length === 1 && hosts[0]?.name === name;
}

/** Returns the screen of the only host. `now`: the host's wall clock. */
function screen({ stdout, env }: Context, { fleet }: OpenFleet, found: Found, now: number): string {
  const {
    rows: [row],
    parallelJobs,
    queues,
  } = found;
  if (row?.detail === undefined) return '';
  const jobs = parallelJobs && jobsTrouble(parallelJobs, fleet.organization);
  const { columns: width = 80, rows: height = 24 } = stdout;
  return hostScreen(
    { row, detail: row.detail, queues, jobs },
    { width, height, now, paint: painter(stdout, env) },
  );
}

/** Returns what the page shows besides its hosts. */
function pageNotes({ fleet }: OpenFleet, { queues, parallelJobs }: Found, problems: readonly Problem[]) {
  const jobs = parallelJobs && jobsTrouble(parallelJobs, fleet.organization);
  return {
    queues,
    jobs,
    problems: problems.map(({ host, what }) => (host === undefined ? what : `${host}: ${what}`)),
  };
}

function text({ stdout, env }: Context, { fleet }: OpenFleet, found: Found): string {
  const style = { width: stdout.columns ?? 120, height: stdout.rows, paint: painter(stdout, env) };
  const { rows, fleetDrift, keys, parallelJobs, queues } = found;
  const jobs = parallelJobs && jobsTrouble(parallelJobs, fleet.organization);
  return statusText(rows, style, { queues, drift: fleetDrift, keys, jobs });
}
