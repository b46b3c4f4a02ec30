import type { HistoryAnswer, HistoryEvent, HistorySummary } from '../../shared/contract/history.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import { count, wrap } from './lines.ts';
import { columns } from './table.ts';

/** The history of one host. */
export interface HostHistory {
  readonly host: string;
  readonly history: HistoryAnswer;
}

/** Returns the events of all hosts by time, then the summary of each host. */
export function historyText(hosts: readonly HostHistory[], since: string, width = Infinity): string {
  if (hosts.length === 0) return '';
  const events = hosts
    .flatMap(({ host, history }) => history.events.map((event) => ({ host, event })))
    .toSorted((a, b) => (a.event.at < b.event.at ? -1 : Number(a.event.at > b.event.at)));
  const several = hosts.length > 1;
  const rows = events.map(({ host, event }) => [
    timeOf(event.at),
    ...(several ? [host] : []),
    event.kind,
    event.who ?? '',
    whatOf(event),
  ]);
  const headings = ['time (UTC)', ...(several ? ['host'] : []), 'kind', 'who', 'what'];
  // Of most hosts no event has a person.
  const shown = headings.map((heading, index) => heading !== 'who' || rows.some((row) => row[index] !== ''));
  const kept = (row: readonly string[]): readonly string[] => row.filter((_, index) => shown[index]);
  const table = rows.length === 0 ? [] : columns([headings, ...rows].map(kept), width);
  const notes = hosts.flatMap(({ host, history: { omitted } }) =>
    omitted === 0 ? [] : [`${host}: ${count(omitted, 'older event')} not shown; use a shorter --since`],
  );
  const nothing = rows.length === 0 ? [`no events since ${timeOf(since)} UTC`] : [];
  const summaries = hosts.flatMap(({ host, history }) => summaryLines(host, history.summary, width));
  return `${[...notes, ...table, ...nothing, '', ...summaries].join('\n')}\n`;
}

function timeOf(at: string): string {
  return at.replace('T', ' ').slice(0, 16);
}

function whatOf({ what, slot, run }: HistoryEvent): string {
  if (run === undefined) return what;
  const took = run.durationS === undefined ? '' : `, ${spanOf(run.durationS)}`;
  return `${slot === undefined ? '' : `slot ${slot}: `}${what}${took}`;
}

/** Returns a duration in at most two units: `45 s`, `12 min`, `3 h 5 min`. */
export function spanOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest === 0 ? '' : ` ${rest} min`}`;
}

function summaryLines(
  host: string,
  { since, jobs, failures, busy }: HistorySummary,
  width: number,
): readonly string[] {
  const failed = failures.reduce((sum, each) => sum + each.count, 0);
  const causes = failures.map((each) => `${each.count} ${each.cause}`).join(', ');
  const text = `${host} since ${timeOf(since)}: ${count(jobs, 'job')}, ${count(failed, 'failure')}${causes === '' ? '' : ` (${causes})`}`;
  const hours = busy.map(({ gpu, hours: each }) => `${shortGpu(gpu)} ${each.toFixed(1)} h`);
  return [
    ...wrap(text, width, 0, 2),
    ...(hours.length === 0 ? [] : [`  ${wrap(`busy: ${hours.join(', ')}`, width, 2, 4).join('\n')}`]),
  ];
}
