import type { FakeJob } from '../../practice/azure/control/control.ts';
import { percentile } from '../statistics.ts';
import type { RunRecord } from './model.ts';

export interface Gaps {
  readonly count: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/**
 * Returns the times from a job's end to the next job's start on the same agent name, while jobs waited: what a slot needs
 * for a new container. Leaves out gaps with a fault of the host: those are its recovery. Pure.
 */
export function refillGaps({ jobs, faults, hostOf }: Pick<RunRecord, 'jobs' | 'faults' | 'hostOf'>): Gaps {
  const spans = jobs
    .filter(({ runs, finishedAt }) => runs.length === 1 && finishedAt !== undefined)
    .map((job) => ({
      agent: job.runs[0]?.agent ?? '',
      from: Date.parse(job.runs[0]?.at ?? ''),
      to: Date.parse(job.finishedAt ?? ''),
    }))
    .sort((a, b) => a.from - b.from);
  const ended = new Map<string, number>();
  const gaps = spans.flatMap(({ agent, from, to }) => {
    const before = ended.get(agent);
    ended.set(agent, to);
    if (before === undefined) return [];
    const isTouched = faults.some(
      (fault) =>
        fault.hosts.includes(hostOf.get(agent) ?? '') && before <= fault.recovered && from >= fault.from,
    );
    return isTouched ? [] : [from - before];
  });
  return {
    count: gaps.length,
    p50: percentile(gaps, 0.5),
    p95: percentile(gaps, 0.95),
    max: percentile(gaps, 1),
  };
}

/** How many jobs ended with each result. */
export function results(jobs: readonly FakeJob[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { result = 'none' } of jobs) counts.set(result, (counts.get(result) ?? 0) + 1);
  return counts;
}
