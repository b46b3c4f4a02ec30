import { elapsed } from '../../../shared/base/quantities.ts';
import { clip, columnsOf } from '../../../shared/base/columns.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import type { HostState } from '../../../fleet/apply/events.ts';
import { type HostRow, type ProgressModel, settled } from './model.ts';

export interface FrameSize {
  readonly columns: number;
  /** The frame never has more lines than this. */
  readonly rows: number;
}

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const marks: Partial<Record<HostState, string>> = {
  waiting: '·',
  ok: '✔',
  changed: '✔',
  failed: '✗',
  unreachable: '✗',
  skipped: '–',
};

/** One frame of the live display: active hosts first, then as many settled ones as fit, then a line of counts. */
export function frame(model: ProgressModel, size: FrameSize, now: number): string[] {
  const rows = [...model.rows.values()];
  const room = Math.max(1, size.rows - 1);
  const active = rows.filter((row) => row.state !== 'waiting' && !settled.has(row.state));
  const rest = rows.filter((row) => !active.includes(row)).sort((a, b) => rank(a) - rank(b));
  const withOutput = active.length * 2 <= room;
  const lines: string[] = [];
  const width = nameWidth(rows, size.columns);
  for (const row of [...active, ...rest]) {
    const entry = rowLines(row, width, size.columns, now, withOutput);
    if (lines.length + entry.length > room) break;
    lines.push(...entry);
  }
  return [...lines, clip(counts(rows), size.columns)];
}

function rowLines(row: HostRow, width: number, columns: number, now: number, withOutput: boolean): string[] {
  const mark = marks[row.state] ?? spinner[Math.floor(now / 100) % spinner.length] ?? '⠋';
  const clock = row.since === undefined || now === 0 ? '' : clockText(now - row.since, row.limitMs, columns);
  const what = row.text === '' ? row.state : row.text;
  const head = `${mark} ${filled(row.host, width)}  `;
  const body = clip(
    foreignLine(what).trim(),
    columns - columnsOf(head) - (clock === '' ? 1 : clock.length + 3),
  );
  const line = clock === '' ? head + body : `${filled(head + body, columns - clock.length - 2)} ${clock}`;
  const output = withOutput ? foreignLine(row.output).trim() : '';
  return output === ''
    ? [clip(line, columns)]
    : [clip(line, columns), clip(`  ${' '.repeat(width)}  ${output}`, columns)];
}

function nameWidth(rows: readonly HostRow[], columns: number): number {
  return Math.min(Math.max(...rows.map((row) => columnsOf(row.host)), 4), Math.floor(columns / 3));
}

function counts(rows: readonly HostRow[]): string {
  const of = (states: readonly HostState[]) => rows.filter((row) => states.includes(row.state)).length;
  const done = of(['ok', 'changed']);
  const bad = of(['failed', 'unreachable']);
  const waiting = of(['waiting']);
  const parts = [`${done} of ${rows.length} done`];
  if (bad > 0) parts.push(`${bad} failed`);
  if (waiting > 0) parts.push(`${waiting} waiting`);
  return parts.join(' · ');
}

/** Failures stay visible longest, waiting hosts shortest. */
function rank(row: HostRow): number {
  if (row.state === 'failed' || row.state === 'unreachable') return 0;
  return row.state === 'waiting' ? 2 : 1;
}

/** `2 h 10 min, at most 4 h`; where the terminal is narrow, without the limit. */
function clockText(milliseconds: number, limitMs: number | undefined, columns: number): string {
  const limit = limitMs === undefined || columns < 70 ? '' : `, at most ${elapsed(limitMs)}`;
  return `${elapsed(milliseconds)}${limit}`;
}

function filled(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)));
}
