import type { ListrRenderer } from 'listr2';

import type { FleetEvent, HostState } from '../../fleet/apply/events.ts';
import { clip, columnsOf } from '../../shared/base/columns.ts';
import type { OutputStream } from '../../shared/base/context.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { elapsed } from '../../shared/base/quantities.ts';

/** One host in the progress display. */
interface HostRow {
  readonly host: string;
  readonly state: HostState;
  /** The present change, or the result. */
  readonly text: string;
  /** The last line of live output of the running change. */
  readonly output: string;
  /** Milliseconds since the epoch when the present change began. */
  readonly since: number | undefined;
  /** How long it may take, in milliseconds. */
  readonly limitMs: number | undefined;
  readonly changesDone: number;
}

interface ProgressModel {
  readonly rows: ReadonlyMap<string, HostRow>;
}

export const settled: ReadonlySet<HostState> = new Set(['ok', 'changed', 'failed', 'unreachable', 'skipped']);

export function emptyModel(hosts: readonly string[]): ProgressModel {
  return {
    rows: new Map(
      hosts.map((host) => [
        host,
        {
          host,
          state: 'waiting',
          text: '',
          output: '',
          since: undefined,
          limitMs: undefined,
          changesDone: 0,
        },
      ]),
    ),
  };
}

/** Applies one event. `now`: on the monotonic clock of the events. Pure. */
export function advance(model: ProgressModel, event: FleetEvent, now?: number): ProgressModel {
  switch (event.kind) {
    case 'host-state':
      return update(model, event.host, (row) => ({
        ...row,
        state: event.state,
        text: event.text ?? (settled.has(event.state) ? row.text : ''),
        output: '',
        since: event.wait?.since ?? begunAt(row, event.state, now),
        limitMs: event.wait?.limitMs,
      }));
    case 'change-start':
      return update(model, event.host, (row) => ({
        ...row,
        text: event.title,
        output: '',
        since: event.since,
        limitMs: event.limitMs,
      }));
    case 'change-limit':
      return update(model, event.host, (row) => ({ ...row, since: event.since, limitMs: event.limitMs }));
    case 'change-output':
      return update(model, event.host, (row) => ({ ...row, output: event.line }));
    case 'change-end':
      return update(model, event.host, (row) => ({
        ...row,
        output: '',
        since: undefined,
        limitMs: undefined,
        changesDone: row.changesDone + (event.ok ? 1 : 0),
      }));
    case 'problem':
      return event.problem.host === undefined
        ? model
        : update(model, event.problem.host, (row) => ({ ...row, text: event.problem.what }));
    default:
      return model;
  }
}

/** Returns when the state began: a repeated state keeps its start. */
function begunAt(row: HostRow, state: HostState, now: number | undefined): number | undefined {
  if (state === 'waiting' || settled.has(state)) return undefined;
  return row.state === state ? (row.since ?? now) : now;
}

function update(model: ProgressModel, host: string, change: (row: HostRow) => HostRow): ProgressModel {
  const row = model.rows.get(host);
  if (row === undefined) return model;
  return { rows: new Map(model.rows).set(host, change(row)) };
}

interface FrameSize {
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

/** Returns a frame of the live display: active hosts, then as many settled ones as fit, then the totals. */
export function frame(model: ProgressModel, size: FrameSize, now: number): string[] {
  const rows = [...model.rows.values()];
  const space = Math.max(1, size.rows - 1);
  const active = rows.filter((row) => row.state !== 'waiting' && !settled.has(row.state));
  const rest = rows.filter((row) => !active.includes(row)).sort((a, b) => rank(a) - rank(b));
  const withOutput = active.length * 2 <= space;
  const lines: string[] = [];
  const width = nameWidth(rows, size.columns);
  for (const row of [...active, ...rest]) {
    const entry = rowLines(row, width, size.columns, now, withOutput);
    if (lines.length + entry.length > space) break;
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

/** Returns the priority on the screen: failures stay visible longest, waiting hosts shortest. */
function rank(row: HostRow): number {
  if (row.state === 'failed' || row.state === 'unreachable') return 0;
  return row.state === 'waiting' ? 2 : 1;
}

/** Returns `2 h 10 min, at most 4 h`; without the limit on a narrow terminal. */
function clockText(milliseconds: number, limitMs: number | undefined, columns: number): string {
  const limit = limitMs === undefined || columns < 70 ? '' : `, at most ${elapsed(limitMs)}`;
  return `${elapsed(milliseconds)}${limit}`;
}

function filled(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)));
}

interface FleetRendererOptions {
  readonly model: () => ProgressModel;
  readonly stream: OutputStream;
  /** Milliseconds on the clock of the events. */
  readonly now: () => number;
  /** True while a question is on the screen: nothing is drawn. */
  readonly hidden: () => boolean;
  /** Lines to print above the display since the last call: notes and problems. */
  readonly drain: () => readonly string[];
}

/** Interval between frames; listr2's own renderer would draw at each event. */
export const intervalMs = 120;

/**
 * A listr2 renderer that draws a bounded frame at a fixed rate. Only notes and problems stay on the screen: the result
 * that follows names every host.
 */
export class FleetRenderer implements ListrRenderer {
  static rendererOptions: FleetRendererOptions;
  static rendererTaskOptions: Record<string, never>;
  static nonTTY = false;
  readonly #options: FleetRendererOptions;
  #timer: NodeJS.Timeout | undefined;
  /** Columns of each line of the last frame. */
  #drawn: readonly number[] = [];

  constructor(_tasks: unknown, options: FleetRendererOptions) {
    this.#options = options;
  }

  render(): void {
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), intervalMs);
  }

  end(): void {
    clearInterval(this.#timer);
    const notes = this.#options.drain().map((line) => `${line}\n`);
    this.#options.stream.write(`${this.#erase()}${notes.join('')}\u001b[?25h`);
  }

  #draw(): void {
    const { model, stream, now, drain, hidden } = this.#options;
    if (hidden()) {
      if (this.#drawn.length > 0) stream.write(`${this.#erase()}\u001b[?25h`);
      this.#drawn = [];
      return;
    }
    if (this.#drawn.length === 0) stream.write('\u001b[?25l');
    const above = drain().map((line) => `${line}\n`);
    const lines = frame(model(), { columns: this.#columns(), rows: this.#rows() }, now());
    stream.write(`${this.#erase()}${above.join('')}${lines.join('\n')}\n`);
    this.#drawn = lines.map((line) => columnsOf(line));
  }

  #columns(): number {
    return this.#options.stream.columns ?? 80;
  }

  /** Returns how many lines a frame may have; the cursor is below it. */
  #rows(): number {
    return Math.max(1, (this.#options.stream.rows ?? 24) - 1);
  }

  /**
   * Erases line by line first, because tmux keeps in its history what is erased from the top left corner at once. A
   * terminal that became narrower has wrapped the last frame; in one that became lower its first lines are unreachable.
   */
  #erase(): string {
    const broken = this.#drawn.map((columns) => Math.max(1, Math.ceil(columns / this.#columns())));
    const taken = Math.min(
      broken.reduce((sum, rows) => sum + rows, 0),
      this.#rows(),
    );
    const up = `\u001b[${taken}A`;
    return taken === 0 ? '' : `${up}${'\u001b[2K\n'.repeat(taken)}${up}\u001b[0J`;
  }
}
