import type { FakeJob } from '../../practice/azure/control/control.ts';
import { isHostile } from './hostile.ts';
import type { ContainerEvent, RunRecord, FaultRecord } from './model.ts';

/** The manager's unit limits its heap to 96 MiB; without attacks sixteen slots use 78 MB in all. */
const mostMemoryMiB = 192;

/** Returns every violation in the run record, in words. Pure. */
export function violations(record: RunRecord): readonly string[] {
  const { jobs, faults, events, hostOf } = record;
  return [
    ...jobs.flatMap((job) => onceOrLost(job, faults, hostOf)),
    ...jobs.flatMap((job) => dirtyGpu(job, faults, hostOf)),
    ...sharedContainers(record),
    ...overlappingRuns(jobs),
    ...overlappingContainers(events),
    ...faults.flatMap(tooLate),
    ...record.quarantines.map((each) => `false quarantine: ${each}`),
    ...record.leftOver.map((each) => `left over: ${each}`),
    ...record.tokens.map((each) => `token found: ${each}`),
    ...record.loot.map((each) => `a copied key worked: ${each}`),
    ...record.crashes.map((each) => `a manager crashed: ${each}`),
    ...[...record.memoryMiB].flatMap(([host, mib]) =>
      mib > mostMemoryMiB ? [`the manager of ${host} used ${mib} MiB, not ${mostMemoryMiB} MiB`] : [],
    ),
    ...[...record.attacks].flatMap(([name, times]) => (times === 0 ? [`no attack: ${name}`] : [])),
  ];
}

/** A job ran once and succeeded, or a fault on its host ended it and the server reports that. */
function onceOrLost(
  job: FakeJob,
  faults: readonly FaultRecord[],
  hostOf: RunRecord['hostOf'],
): readonly string[] {
  const [run, ...more] = job.runs;
  if (more.length > 0) return [`${job.name} ran ${job.runs.length} times`];
  if (job.state !== 'done') return [`${job.name} is still ${job.state}`];
  if (run === undefined) return [`${job.name} ended as ${job.result} without running: ${job.message ?? ''}`];
  if (job.result === 'succeeded' || isHostile(job)) return [];
  const host = hostOf.get(run.agent) ?? '';
  const began = Date.parse(run.at);
  const ended = Date.parse(job.finishedAt ?? '');
  const isCut = faults.some(
    ({ cutsJobs, hosts, from, over }) => cutsJobs && hosts.includes(host) && began <= over && ended >= from,
  );
  if (isCut) return [];
  const words = [job.result, job.message, ...job.log.trimEnd().split('\n').slice(-6)].filter(Boolean);
  return [`${job.name} on ${run.agent} was lost, given at ${run.at}: ${words.join(' | ')}`];
}

/** Time from a job's assignment until its script checks the GPUs, on a machine under load. */
const beginMs = 15_000;

/**
 * A line `gpu MIB` in a job's log says how much memory of its GPUs was in use when it began. The manager's next check sees a
 * process that starts while an agent waits; then no job begins there.
 */
function dirtyGpu(
  job: FakeJob,
  faults: readonly FaultRecord[],
  hostOf: RunRecord['hostOf'],
): readonly string[] {
  const [run] = job.runs;
  const inUse = /^gpu (\d*)$/mu.exec(job.log)?.[1];
  if (run === undefined || inUse === '0') return [];
  if (inUse === undefined || inUse === '')
    return job.result === 'succeeded' && !isHostile(job) ? [`${job.name} does not say how its GPU was`] : [];
  const host = hostOf.get(run.agent) ?? '';
  const began = Date.parse(run.at);
  const isEarly = faults.some(
    ({ hosts, from, takenAt }) =>
      takenAt !== undefined && hosts.includes(host) && began >= from - beginMs && began <= takenAt,
  );
  return isEarly ? [] : [`${job.name} on ${run.agent} began on a GPU with ${inUse} MiB in use`];
}

/** A line `container ID` in a job's log says where it ran. */
export function containerOf(job: FakeJob): string | undefined {
  return /^container ([0-9a-f]{12,64})$/mu.exec(job.log)?.[1];
}

function sharedContainers({ jobs, hostPool }: RunRecord): readonly string[] {
  const first = new Map<string, string>();
  return jobs.flatMap((job) => {
    const id = containerOf(job);
    if (isHostile(job) || job.pool === hostPool) return [];
    if (id === undefined) return job.result === 'succeeded' ? [`${job.name} does not say where it ran`] : [];
    const other = first.get(id);
    first.set(id, job.name);
    return other === undefined ? [] : [`${other} and ${job.name} ran in the same container`];
  });
}

/** Two concurrent jobs on one agent name mean two running agents. */
function overlappingRuns(jobs: readonly FakeJob[]): readonly string[] {
  const spans = jobs
    .flatMap(({ name, runs, finishedAt }) =>
      runs.map(({ agent, at }) => ({ name, agent, from: Date.parse(at), to: Date.parse(finishedAt ?? '') })),
    )
    .sort((a, b) => a.from - b.from);
  const last = new Map<string, (typeof spans)[number]>();
  return spans.flatMap((span) => {
    const before = last.get(span.agent);
    last.set(span.agent, span);
    return before !== undefined && before.to > span.from
      ? [`${before.name} and ${span.name} ran on ${span.agent} at the same time`]
      : [];
  });
}

function overlappingContainers(events: readonly ContainerEvent[]): readonly string[] {
  const live = new Map<string, Set<string>>();
  return events.flatMap(({ host, slot, kind, id }) => {
    if (kind === 'again') {
      for (const [name, ids] of live) if (name.startsWith(`${host} `)) ids.clear();
      return [];
    }
    const key = `${host} slot ${slot}`;
    const ids = live.get(key) ?? new Set();
    live.set(key, ids);
    if (kind === 'die') ids.delete(id);
    else ids.add(id);
    return ids.size > 1 && kind !== 'die' ? [`${key} has ${ids.size} live containers`] : [];
  });
}

function tooLate({ name, over, recovered, boundMs }: FaultRecord): readonly string[] {
  const took = recovered - over;
  return took <= boundMs ? [] : [`after ${name} the slots needed ${took} ms, not ${boundMs} ms`];
}
