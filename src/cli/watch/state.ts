import type { PoolQueue } from '../../fleet/status/collect.ts';
import type { HostDetail, SlotDetail } from '../../fleet/status/detail.ts';
import type { StatusRow } from '../../fleet/status/row.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { elapsed } from '../../shared/base/quantities.ts';
import type { Trouble } from '../render/trouble.ts';

/** What an answer of a host says. Times without a clock are milliseconds of the monotonic clock. */
export interface HostAnswer {
  readonly row: StatusRow;
  readonly detail: HostDetail;
  /** When the host answered, and its wall clock at that moment. */
  readonly at: number;
  readonly now: number;
}

/** One host on the screen. */
export interface WatchedHost {
  /** The last answer; absent: none yet. */
  readonly answer?: HostAnswer;
  /** The host does not answer: since when, and the row that says so. */
  readonly lost?: { readonly since: number; readonly row: StatusRow };
}

export interface WatchEvent {
  readonly at: number;
  readonly text: string;
  readonly tone: 'good' | 'bad' | 'plain';
}

/** Everything that the screen shows. */
export interface WatchState {
  /** By name, in the order of the inventory. */
  readonly hosts: ReadonlyMap<string, WatchedHost>;
  readonly queues: readonly PoolQueue[];
  /** Why pools could not be read. */
  readonly poolProblems: readonly Problem[];
  /** How many jobs may run at once. */
  readonly jobs?: Trouble;
  /** The latest is the last. */
  readonly events: readonly WatchEvent[];
  readonly filter: string;
  /** The filter is being typed. */
  readonly isTyping: boolean;
  /** Name of the selected host; absent: the first of the screen. */
  readonly selected?: string;
  /** The host whose screen is open, and how many of its lines are above the terminal. */
  readonly open?: { readonly host: string; readonly top: number };
}

/** What a source reports, and when. An answer may be one that was reported before: its pools were read later. */
export type Report =
  | { readonly kind: 'answer'; readonly answer: HostAnswer; readonly at: number }
  /** `row`: what is said of an unreachable host. */
  | { readonly kind: 'lost'; readonly row: StatusRow; readonly at: number }
  | {
      readonly kind: 'pools';
      readonly queues: readonly PoolQueue[];
      readonly problems: readonly Problem[];
      readonly jobs: Trouble | undefined;
      readonly at: number;
    }
  | { readonly kind: 'note'; readonly text: string; readonly at: number };

/** Events that are kept: more than a terminal has lines. */
const mostEvents = 200;

export function emptyState(hosts: readonly string[]): WatchState {
  return {
    hosts: new Map(hosts.map((host) => [host, {}])),
    queues: [],
    poolProblems: [],
    events: [],
    filter: '',
    isTyping: false,
  };
}

/** Applies a report. Pure. */
export function reported(state: WatchState, report: Report): WatchState {
  const { at } = report;
  switch (report.kind) {
    case 'answer': {
      const { answer } = report;
      const before = state.hosts.get(answer.row.host) ?? {};
      return withEvents(withHost(state, answer.row.host, { answer }), changes(before, answer, at));
    }
    case 'lost': {
      const { row } = report;
      const before = state.hosts.get(row.host) ?? {};
      const lost = { row, since: before.lost?.since ?? before.answer?.at ?? at };
      return withEvents(withHost(state, row.host, { ...before, lost }), losses(before, row, at));
    }
    case 'pools': {
      const { queues, problems, jobs } = report;
      const { jobs: _, ...rest } = state;
      const known = new Set(state.poolProblems.map(({ what }) => what));
      const fresh = problems.filter(({ what }) => !known.has(what));
      const events = fresh.map(({ what }): WatchEvent => ({
        at,
        text: `Azure DevOps: ${what}`,
        tone: 'bad',
      }));
      return withEvents({ ...rest, queues, poolProblems: problems, ...defined({ jobs }) }, events);
    }
    default:
      return withEvents(state, [{ at, text: report.text, tone: 'plain' }]);
  }
}

function withHost(state: WatchState, name: string, host: WatchedHost): WatchState {
  return { ...state, hosts: new Map(state.hosts).set(name, host) };
}

function withEvents(state: WatchState, events: readonly WatchEvent[]): WatchState {
  return events.length === 0 ? state : { ...state, events: [...state.events, ...events].slice(-mostEvents) };
}

/** Returns what changed between two answers. Pure. */
function changes(
  { answer: before, lost }: WatchedHost,
  after: HostAnswer,
  at: number,
): readonly WatchEvent[] {
  const text = `${after.row.host}: answers again after ${elapsed(at - (lost?.since ?? at))}`;
  const back: readonly WatchEvent[] = lost === undefined ? [] : [{ at, text, tone: 'good' }];
  return before === undefined
    ? back
    : [...back, ...verdictChange(before.row, after.row, at), ...jobChanges(before, after, at)];
}

function verdictChange(before: StatusRow, { host, verdict, azure }: StatusRow, at: number): WatchEvent[] {
  // A pool that is read for the first time, or no more, is no change of the host.
  if ((before.azure === undefined) !== (azure === undefined)) return [];
  if (before.verdict.state === verdict.state && before.verdict.cause === verdict.cause) return [];
  const why = verdict.cause === '' ? '' : `: ${verdict.cause}`;
  const was = before.verdict.state === verdict.state ? '' : ` (was ${before.verdict.state})`;
  return [{ at, text: `${host}: ${verdict.state}${was}${why}`, tone: toneOf(verdict.state) }];
}

function toneOf(state: StatusRow['verdict']['state']): WatchEvent['tone'] {
  if (state === 'healthy') return 'good';
  return state === 'off' ? 'plain' : 'bad';
}

function losses({ lost }: WatchedHost, { host, verdict }: StatusRow, at: number): readonly WatchEvent[] {
  const isSame = lost?.row.verdict.state === verdict.state && lost.row.verdict.cause === verdict.cause;
  const why = verdict.cause === '' ? '' : `: ${verdict.cause}`;
  return isSame ? [] : [{ at, text: `${host}: ${verdict.state}${why}`, tone: toneOf(verdict.state) }];
}

/** Slots whose state is unknown started and ended nothing that could be named. */
function jobChanges(before: HostAnswer, after: HostAnswer, at: number): readonly WatchEvent[] {
  const { host } = after.row;
  const known = new Map(before.detail.slots.map((slot) => [slot.slot, slot]));
  return after.detail.slots.flatMap((slot): WatchEvent[] => {
    const was = known.get(slot.slot);
    if (was === undefined || 'unknown' in was.state || 'unknown' in slot.state) return [];
    if (isSameJob(was, slot)) return [];
    const place = `${host}/${slot.slot}`;
    const texts = [
      ...(isBusy(was) ? [`${place}: job ended${tookText(was, after.now)}: ${nameOf(was)}`] : []),
      ...(isBusy(slot) ? [`${place}: job started: ${nameOf(slot)}`] : []),
    ];
    return texts.map((text) => ({ at, text, tone: 'plain' }));
  });
}

function isBusy({ state }: SlotDetail): boolean {
  return 'value' in state && state.value === 'busy';
}

/** A job gets its name a moment after its start. */
function isSameJob(before: SlotDetail, after: SlotDetail): boolean {
  if (!isBusy(before) || !isBusy(after)) return isBusy(before) === isBusy(after);
  return before.job === undefined || (before.job === after.job && before.since === after.since);
}

function nameOf({ job = 'no name yet' }: SlotDetail): string {
  return job;
}

function tookText({ since }: SlotDetail, now: number): string {
  const took = now - Date.parse(since ?? '');
  return took >= 0 ? ` after ${elapsed(took)}` : '';
}
