import type { FleetEvent, HostState } from '../../../fleet/apply/events.ts';

/** One host as the progress display knows it. */
export interface HostRow {
  readonly host: string;
  readonly state: HostState;
  /** What it is doing now, or its result. */
  readonly text: string;
  /** The last line of live output of the running change. */
  readonly output: string;
  /** Milliseconds since the epoch when the present change began. */
  readonly since: number | undefined;
  /** How long it may take, in milliseconds. */
  readonly limitMs: number | undefined;
  readonly changesDone: number;
}

export interface ProgressModel {
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

/** What has gone on under the same name goes on. */
function begunAt(row: HostRow, state: HostState, now: number | undefined): number | undefined {
  if (state === 'waiting' || settled.has(state)) return undefined;
  return row.state === state ? (row.since ?? now) : now;
}

function update(model: ProgressModel, host: string, change: (row: HostRow) => HostRow): ProgressModel {
  const row = model.rows.get(host);
  if (row === undefined) return model;
  return { rows: new Map(model.rows).set(host, change(row)) };
}
