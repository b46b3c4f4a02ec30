import { quote } from '../base/shell.ts';

/** A drain: the host, or one of its slots, accepts no jobs. */
export interface DrainEntry {
  readonly reason: string;
  /** ISO 8601 */
  readonly at: string;
  /** `user@machine`; absent: not in the request. */
  readonly owner?: string;
  /** The run that drained it and ends the drain; absent: drained by a user. */
  readonly run?: string;
  /** The command of that run; absent: a user's drain, or one of an earlier release. */
  readonly command?: string;
}

/** The commands whose runs drain hosts. */
export type DrainCommand = 'provision' | 'reboot' | 'remove';

/** A drain, and what is drained. */
export interface Drain extends DrainEntry {
  /** Absent: the whole host. */
  readonly slot?: string;
}

/** The body of `POST /v1/drain`; each member may be absent in it. */
export interface DrainOrder {
  /** None: the whole host. */
  readonly slots: readonly string[];
  readonly reason: string;
  readonly owner?: string;
  readonly run?: string;
  readonly command?: string;
}

/** The body of `POST /v1/undrain`; each member may be absent in it. */
export interface UndrainOrder {
  /** None: every drain ends. */
  readonly slots: readonly string[];
  /** Only the drain of this run ends. */
  readonly run?: string;
}

/** Shown characters of a run's id. */
const shownOfRun = 8;

/** Returns `drained by ann@laptop: new fan`, or `drained by run 3f2a91bc of ann@laptop: restart Docker`. Pure. */
export function drainedBy({ owner, run, reason }: DrainEntry): string {
  const of = owner === undefined ? '' : ` of ${owner}`;
  const who = run === undefined ? owner : `run ${run.slice(0, shownOfRun)}${of}`;
  return ['drained', who === undefined ? '' : ` by ${who}`, reason === '' ? '' : `: ${reason}`].join('');
}

/** Returns `slot 1 drained by ann@laptop: new fan, since 2026-11-21 12:03 UTC`, or `whole host drained by …`. Pure. */
export function drainLine(drain: Drain): string {
  return `${drain.slot === undefined ? 'whole host ' : ''}${drainNote(drain)}`;
}

/** Returns the same for a text about the host: `drained by ann@laptop: new fan, since 2026-11-21 12:03 UTC`. Pure. */
export function drainNote(drain: Drain): string {
  const at = minuteOf(drain.at);
  const since = at === undefined ? '' : `, since ${at}`;
  return `${drain.slot === undefined ? '' : `slot ${drain.slot} `}${drainedBy(drain)}${since}`;
}

/** Returns the drains by runs. Pure. */
export function drainsOfRuns({ drains }: { readonly drains: readonly Drain[] }): readonly Drain[] {
  return drains.filter(({ run }) => run !== undefined);
}

/** Tells whether a run of this command resumes a run's drain. One without a command is resumed by all. Pure. */
export function isResumedBy(command: DrainCommand, drain: DrainEntry): boolean {
  return drain.run !== undefined && (drain.command ?? command) === command;
}

/** Returns the next action that ends a drain of this host. Pure. */
export function drainEnd(drain: Drain, host: string): string {
  const target = drain.slot === undefined ? host : quote(`${host}/${drain.slot}`);
  return drain.run === undefined
    ? `run "azp-fleet undrain ${target}" when it may take jobs again`
    : `wait for that run to end; if it was interrupted, ${resumeText(drain, host)}`;
}

const enables = 'checks the host and enables its agents again';
const resumes: Readonly<Record<string, string>> = {
  provision: enables,
  reboot: enables,
  remove: 'continues',
};

/** Returns how to end the drain of an interrupted run. `first`: what the next run does before. Pure. */
export function resumeText({ command = 'provision' }: DrainEntry, host: string, first = ''): string {
  const does = Object.hasOwn(resumes, command) ? resumes[command] : undefined;
  const undrain = `"azp-fleet undrain ${host}"`;
  return does === undefined
    ? `run ${undrain}`
    : `run "azp-fleet ${command} ${host}": it ${first}${does} (or run ${undrain})`;
}

/** Returns `2026-11-21 12:03 UTC`; undefined for an invalid time. Pure. */
export function minuteOf(at: string): string | undefined {
  if (Number.isNaN(Date.parse(at))) return undefined;
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
