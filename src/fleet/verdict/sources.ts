import { valueOf } from '../../shared/base/reading.ts';
import type { Code } from '../../shared/base/codes/code.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { reading, statusOf } from '../facts/unread.ts';
import type { HostView } from './host-view.ts';

/** What a verdict is made from. */
export type Source = 'facts' | 'report' | 'gpus' | 'connection' | 'pool';

/**
 * Milliseconds after which a source is too old for a verdict. Facts are read for each verdict by the run that shows it, and are kept
 * nowhere: a report's age is counted to that moment.
 */
export const maxAgeMs: Readonly<Record<Source, number>> = {
  facts: 0,
  report: 90_000,
  gpus: 2 * 60_000,
  connection: 90_000,
  pool: 6 * 60_000,
};

export interface SourceAge {
  readonly source: Source;
  /** Infinity: never read; NaN: an invalid time. */
  readonly ageMs: number;
}

/** Returns the age of each source that the verdict uses, by the host's clock. Pure. */
export function sourceAges({ facts, probe, agentsIn, now }: Omit<HostView, 'host'>): readonly SourceAge[] {
  const status = valueOf(statusOf(facts));
  const { gpus = [] } = valueOf(reading(facts, 'gpus')) ?? {};
  const since = (at: string | undefined) => (at === undefined ? Infinity : now - Date.parse(at));
  const hasGpus = gpus.length > 0 || (status?.health.gpus ?? []).length > 0;
  const unlisted = status?.pools.filter(({ name }) => agentsIn(name) === undefined) ?? [];
  return [
    { source: 'facts', ageMs: 0 },
    { source: 'report', ageMs: since(status?.at) },
    ...(hasGpus && status !== undefined
      ? [{ source: 'gpus' as const, ageMs: probe === undefined ? since(status.health.checkedAt) : 0 }]
      : []),
    ...(status?.connection === undefined
      ? []
      : [{ source: 'connection' as const, ageMs: since(status.connection.checkedAt) }]),
    // Without a list of the pool, the manager's view counts. Earlier managers do not report its time.
    ...unlisted.flatMap(({ at }) =>
      at === undefined ? [] : [{ source: 'pool' as const, ageMs: since(at) }],
    ),
  ];
}

/** Tells whether a source is too old, or from the future: then the host's clock was set back. Pure. */
export function isTooOld({ source, ageMs }: SourceAge): boolean {
  return !(Math.abs(ageMs) <= maxAgeMs[source]);
}

/** The oldest source of a verdict, in seconds. */
export interface Oldest {
  readonly source: Source;
  readonly ageS: number;
}

/** Returns the oldest source with a valid time. Pure. */
export function oldestOf(ages: readonly SourceAge[]): Oldest | undefined {
  const [oldest] = ages.filter(({ ageMs }) => Number.isFinite(ageMs)).toSorted((a, b) => b.ageMs - a.ageMs);
  return oldest && { source: oldest.source, ageS: Math.max(0, Math.round(oldest.ageMs / 1000)) };
}

/** Returns `12 s`, `6 min` or `3 h`. Pure. */
export function ageText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

const names: Readonly<Record<Exclude<Source, 'facts' | 'report'>, readonly [Code, string]>> = {
  gpus: ['health.old', 'GPU check'],
  connection: ['manager.old-view', 'test of the connection to Azure DevOps'],
  pool: ['manager.old-view', 'view of the pool'],
};

/** Returns the finding on a source of the manager that is too old. Pure. */
export function oldSource({ source, ageMs }: SourceAge): readonly Finding[] {
  if (source === 'facts' || source === 'report') return [];
  const [code, name] = names[source];
  const what = Number.isFinite(ageMs)
    ? `the manager’s last ${name} is ${ageText(Math.abs(ageMs) / 1000)} ${ageMs < 0 ? 'in the future' : 'old'}`
    : `the manager has no ${name} yet`;
  return [finding(code, what)];
}

/** Returns the finding if the GPU check finds GPUs that the facts lack, with both statements and their ages. Pure. */
export function disagreement(
  { facts, probe }: Pick<HostView, 'facts' | 'probe'>,
  ages: readonly SourceAge[],
): readonly Finding[] {
  const read = reading(facts, 'gpus', 'ignoredGpus', 'driver');
  if (read.kind === 'unknown') return [];
  const { gpus, ignoredGpus, driver, platform } = read.value;
  const health = valueOf(statusOf(facts))?.health;
  const state = probe?.verdict.state ?? health?.state;
  const listed = (probe === undefined ? health?.gpus : probe.report?.gpus)?.length ?? 0;
  const works = state === 'healthy' || state === 'degraded';
  // Their GPUs and drivers are not where the facts look for them.
  if (!works || listed === 0 || platform === 'jetson' || platform === 'wsl') return [];
  const missing = [
    ...(gpus.length === 0 && listed > ignoredGpus.length ? ['no NVIDIA GPU'] : []),
    ...(driver.loaded === undefined ? ['no loaded NVIDIA driver'] : []),
  ];
  if (missing.length === 0) return [];
  const { ageS } = oldestOf(ages.filter(({ source }) => source === 'gpus')) ?? {};
  const check = probe === undefined ? 'the manager’s GPU check' : 'the probe';
  const age = ageS === undefined ? 'of unknown age' : `${ageText(ageS)} old`;
  const what = `the facts (0 s old) show ${missing.join(' and ')}, and ${check} (${age}) lists ${listed} ${listed === 1 ? 'GPU' : 'GPUs'} and is ${state}`;
  return [finding('host.sources-disagree', what)];
}
