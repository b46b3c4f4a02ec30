import { defined } from '../../shared/base/objects.ts';
import { gibText } from '../../shared/contract/slots.ts';
import { drainEnd, drainLine } from '../../shared/contract/drain.ts';
import { idleLine } from '../../shared/contract/idle.ts';
import type { StatusRow } from '../../fleet/status/row.ts';
import type { Paint } from './color.ts';
import { alike } from './groups/alike.ts';
import { hostLabel } from './groups/host-label.ts';
import { count } from './inventory.ts';
import { wrap } from './lines/wrap.ts';
import { columns, statusCells, verdictStyle } from './status-cells.ts';
import { tableLines, type Cell } from './table.ts';
import { merged, troubleLines, troubleOf, type Trouble } from './trouble.ts';

export interface StatusTextOptions {
  readonly width: number;
  /** Lines of the terminal: where the table has more, hosts that are alike share a line. Undefined: no terminal. */
  readonly height?: number | undefined;
  readonly paint: Paint;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The table, then what is wrong with its cause and cure, then one line that sums it up. */
export function statusText(rows: readonly StatusRow[], options: StatusTextOptions): string {
  const sections = [
    tableLines(columns, tableRows(rows, options.height), options),
    ...troubles(rows).map((trouble) => troubleLines(trouble, options)),
    ...placeLines(rows, options),
    shareLines(rows, options),
    ...[...drains(rows), ...idle(rows), ...notes(rows)].map((told) => troubleLines(told, options)),
    driftLines(rows, options),
    [summary(rows, options)],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function tableRows(rows: readonly StatusRow[], height: number | undefined): readonly (readonly Cell[])[] {
  const cells = rows.map(statusCells);
  if (height === undefined || rows.length < height) return cells;
  const groups = Map.groupBy(cells, ([, ...rest]) => JSON.stringify(rest));
  return [...groups.values()].map((group) => {
    const names = group.map(([host]) => host?.texts[0] ?? '');
    const number = group.length === 1 ? [] : [count(group.length, 'host')];
    return [{ texts: [hostLabel(names).label, ...number] }, ...(group[0]?.slice(1) ?? [])];
  });
}

/** Everything that is wrong, equal troubles of several hosts once. */
function troubles(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, verdict, findings }): Trouble[] => {
      const serious = findings.filter(({ severity }) => severity !== 'info');
      if (serious.length > 0) return serious.map((finding) => troubleOf(host, finding));
      const { cause: what, next, code } = verdict;
      const severity = verdict.state === 'off' ? 'info' : 'fail';
      return what === '' ? [] : [{ places: [host], severity, what, next, ...defined({ code }) }];
    }),
  );
}

/** Nothing is wrong with these, but somebody must end them; a run's marks are findings. */
function drains(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, drains: marks = [] }) =>
      marks
        .filter(({ run }) => run === undefined)
        .map((mark): Trouble => ({
          places: [host],
          severity: 'info',
          what: drainLine(mark),
          next: drainEnd(mark),
        })),
    ),
  );
}

/** When hosts that cost money by the hour power off, or what keeps them on. */
function idle(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, idle: told }): Trouble[] =>
      told === undefined
        ? []
        : [{ places: [host], severity: 'info', what: idleLine(told), next: told.stays?.next ?? '' }],
    ),
  );
}

/** Nothing is wrong with these either: jobs that began before the last change. */
function notes(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, verdict: { note } }): Trouble[] =>
      note === undefined ? [] : [{ places: [host], severity: 'info', what: note, next: '' }],
    ),
  );
}

/** Hosts whose slots are in several pools or run several images: which is which. */
function placeLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[][] {
  const said = rows.flatMap(({ host, slots: value = [] }) => (value.length === 0 ? [] : [{ host, value }]));
  return alike(said).map(({ hosts, value: slots }) => {
    const lines = slots.flatMap(({ slot, pool, image }) => {
      const runs = image === undefined ? '' : `, image ${image}`;
      return wrap(`${slot}: pool ${pool}${runs}`, width - 1, 2, 4).map((line, index) =>
        index === 0 ? `  ${line}` : line,
      );
    });
    return [...placeHead(`${paint('dim', '·')} `, hosts, '', { width, paint }), ...lines];
  });
}

/** Of one host: what each agent may use of its memory. */
function shareLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[] {
  const [row, ...others] = rows;
  if (row?.shares === undefined || others.length > 0) return [];
  const bySize = Map.groupBy(row.shares, ({ memoryMiB }) => memoryMiB);
  const told = [...bySize].map(([mib, each]) => {
    const size = mib === undefined ? 'no limit' : gibText(mib);
    return bySize.size === 1 ? size : `${each.map(({ slot }) => slot).join(', ')} ${size}`;
  });
  return wrap(`memory of each agent: ${told.join('; ')}`, width - 1, 2, 4).map((line, index) =>
    index === 0 ? `${paint('dim', '·')} ${line}` : line,
  );
}

function driftLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[] {
  const said = rows.flatMap(({ host, drift: value = [] }) => (value.length === 0 ? [] : [{ host, value }]));
  return alike(said).flatMap(({ hosts, value: drift }) => [
    ...placeHead(`${paint('yellow', '~')} `, hosts, ': provision would change', { width, paint }),
    ...drift.flatMap((title) =>
      wrap(`- ${title}`, width - 1, 4, 6).map((line, index) => (index === 0 ? `    ${line}` : line)),
    ),
  ]);
}

function placeHead(
  mark: string,
  hosts: readonly string[],
  after: string,
  { width, paint }: Pick<StatusTextOptions, 'width' | 'paint'>,
): string[] {
  const { label, names } = hostLabel(hosts);
  return [
    `${mark}${paint('bold', label)}${after}`,
    ...(names === undefined ? [] : wrap(names, width - 5, 0, 0).map((line) => `    ${paint('dim', line)}`)),
  ];
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
