import { drainEnd, drainLine } from '../contract/drain.ts';
import type { StatusRow } from '../status/row.ts';
import type { Paint } from './color.ts';
import { wrap } from './problem.ts';
import { columns, statusCells, verdictStyle } from './status-cells.ts';
import { tableLines } from './table.ts';
import { merged, troubleLines, troubleOf, type Trouble } from './trouble.ts';

export interface StatusTextOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The table, then what is wrong with its cause and cure, then one line that sums it up. */
export function statusText(rows: readonly StatusRow[], options: StatusTextOptions): string {
  const sections = [
    tableLines(columns, rows.map(statusCells), options),
    ...troubles(rows).map((trouble) => troubleLines(trouble, options)),
    ...placeLines(rows, options),
    ...drains(rows).map((drain) => troubleLines(drain, options)),
    driftLines(rows, options),
    [summary(rows, options)],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** Everything that is wrong, equal troubles of several hosts once. */
function troubles(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, verdict, findings }): Trouble[] => {
      const serious = findings.filter(({ severity }) => severity !== 'info');
      if (serious.length > 0) return serious.map((finding) => troubleOf(host, finding));
      const { cause: what, next } = verdict;
      return what === '' ? [] : [{ places: [host], severity: 'fail', what, next }];
    }),
  );
}

/** Nothing is wrong with these, but somebody must end them. */
function drains(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, drains: marks = [] }) =>
      marks.map((mark): Trouble => ({
        places: [host],
        severity: 'info',
        what: drainLine(mark),
        next: drainEnd(mark),
      })),
    ),
  );
}

/** Hosts whose slots are in several pools or run several images: which is which. */
function placeLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[][] {
  return rows.flatMap(({ host, slots = [] }) => {
    if (slots.length === 0) return [];
    const lines = slots.flatMap(({ slot, pool, image }) => {
      const runs = image === undefined ? '' : `, image ${image}`;
      return wrap(`${slot}: pool ${pool}${runs}`, width - 1, 2, 4).map((line, index) =>
        index === 0 ? `  ${line}` : line,
      );
    });
    return [[`${paint('dim', '·')} ${paint('bold', host)}`, ...lines]];
  });
}

function driftLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[] {
  return rows.flatMap(({ host, drift = [] }) => {
    if (drift.length === 0) return [];
    return [
      `${paint('yellow', '~')} ${paint('bold', host)}: provision would change`,
      ...drift.flatMap((title) =>
        wrap(`- ${title}`, width - 1, 4, 6).map((line, index) => (index === 0 ? `    ${line}` : line)),
      ),
    ];
  });
}

function summary(rows: readonly StatusRow[], { now, paint }: StatusTextOptions): string {
  const counts = Map.groupBy(rows, ({ verdict }) => verdict.state);
  const hosts = `${rows.length} ${rows.length === 1 ? 'host' : 'hosts'}`;
  const parts = [...counts].map(([state, group]) => paint(verdictStyle[state], `${group.length} ${state}`));
  const text =
    counts.size === 1 && rows.length > 1
      ? `${hosts}, all ${paint(verdictStyle[rows[0]?.verdict.state ?? 'unknown'], rows[0]?.verdict.state ?? '')}`
      : `${hosts}: ${parts.join(', ')}`;
  const oldest = Math.min(
    ...rows.flatMap(({ checkedAt }) => (checkedAt === undefined ? [] : [Date.parse(checkedAt)])),
  );
  if (!Number.isFinite(oldest)) return text;
  const seconds = Math.max(0, Math.round((now - oldest) / 1000));
  return `${text} ${paint('dim', `(GPUs looked at ${seconds < 2 ? 'just now' : `at most ${seconds} s ago`})`)}`;
}
