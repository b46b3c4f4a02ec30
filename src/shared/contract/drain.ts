import type { Problem } from '../base/errors.ts';
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
  /** ISO 8601: when the manager ends it; absent: it has no end. */
  readonly until?: string;
  /** The command of that run; absent: a user's drain, or one of an earlier release. */
  readonly command?: string;
}

/** The commands whose runs change hosts. All but `token rotate` drain them. */
export type DrainCommand = 'provision' | 'reboot' | 'remove' | 'token rotate';

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
  readonly until?: string;
}

/** The body of `POST /v1/undrain`; each member may be absent in it. */
export interface UndrainOrder {
  /** None: every drain ends. */
  readonly slots: readonly string[];
  /** Only the drain of this run ends. */
  readonly run?: string;
}

/** The body of `POST /v1/undrain-own`; each member may be absent in it. */
export interface UndrainOwnOrder {
  /** None: the drains of the host and of all slots. */
  readonly slots: readonly string[];
  /** Who asks; its drains end, those of runs, and those without an owner. */
  readonly owner?: string;
  /** Only the drains of this login end. */
  readonly of?: string;
}

/** Returns the login of an owner: a person's drains are one person's on every machine. Pure. */
export function loginOf(owner: string): string {
  return owner.replace(/@[^@]*$/, '');
}

/** Tells whether the order ends this drain. Pure. */
export function isEndedBy({ slots, owner, of }: UndrainOwnOrder, drain: Drain): boolean {
  if (slots.length > 0 && (drain.slot === undefined || !slots.includes(drain.slot))) return false;
  if (of !== undefined)
    return (
      drain.run === undefined && drain.owner !== undefined && [drain.owner, loginOf(drain.owner)].includes(of)
    );
  if (drain.run !== undefined || drain.owner === undefined) return true;
  return owner !== undefined && loginOf(drain.owner) === loginOf(owner);
}

/** Returns the problem of slots that an undrain leaves drained: by whom, and how to end that. None: undefined. Pure. */
export function stillDrained(
  host: string,
  { slots }: UndrainOwnOrder,
  { drains, ended }: { readonly drains: readonly Drain[]; readonly ended: number },
): Problem | undefined {
  const left = drains.filter(({ slot }) => slot === undefined || slots.length === 0 || slots.includes(slot));
  if (left.length === 0) return undefined;
  const done = ended === 0 ? 'no drain ended' : `${ended} ${ended === 1 ? 'drain' : 'drains'} ended`;
  const what = left.some(({ slot }) => slot === undefined) ? 'the host stays drained' : 'slots stay drained';
  return {
    code: 'drain.left',
    host,
    step: 'manager',
    what: `${done}; ${what}`,
    seen: left.map(drainLine).join('\n'),
    next: [...new Set(left.map((drain) => drainEnd(drain, host)))].join('; '),
  };
}

/** Shown characters of a run's id. */
const shownOfRun = 8;

/** Returns `drained by ann@laptop: new fan`, or `drained by run 3f2a91bc of ann@laptop: restart Docker`. Pure. */
export function drainedBy({ owner, run, reason }: DrainEntry): string {
  const of = owner === undefined ? '' : ` of ${owner}`;
  const who = run === undefined ? owner : `run ${run.slice(0, shownOfRun)}${of}`;
  return ['drained', who === undefined ? '' : ` by ${who}`, reason === '' ? '' : `: ${reason}`].join('');
}

/** Returns the owner in such a text of a user's drain; undefined: it names none. Pure. */
export function ownerIn(text: string): string | undefined {
  return /^drained by ([^\s:]+@[^\s:]+)(?:: |$)/.exec(text)?.[1];
}

/** Returns `slot 1 drained by ann@laptop: new fan, since 2026-11-21 12:03 UTC`, or `whole host drained by …`. Pure. */
export function drainLine(drain: Drain): string {
  return `${drain.slot === undefined ? 'whole host ' : ''}${drainNote(drain)}`;
}

/** Returns the same for a text about the host: `drained by ann@laptop: new fan, since 2026-11-21 12:03 UTC`. Pure. */
export function drainNote(drain: Drain): string {
  const at = minuteOf(drain.at);
  const since = at === undefined ? '' : `, since ${at}`;
  const end = minuteOf(drain.until ?? '');
  const until = end === undefined ? '' : `, until ${end}`;
  return `${drain.slot === undefined ? '' : `slot ${drain.slot} `}${drainedBy(drain)}${since}${until}`;
}

/** Returns the drains by runs. Pure. */
export function drainsOfRuns({ drains }: { readonly drains: readonly Drain[] }): readonly Drain[] {
  return drains.filter(({ run }) => run !== undefined);
}

/** Tells whether a run of this command resumes a run's drain. One without a command is resumed by all that drain. Pure. */
export function isResumedBy(command: DrainCommand, drain: DrainEntry): boolean {
  if (command === 'token rotate') return false;
  return drain.run !== undefined && (drain.command ?? command) === command;
}

/** Returns the next action that ends a drain of this host, whoever reads it. Pure. */
export function drainEnd(drain: Drain, host: string): string {
  if (drain.run !== undefined)
    return `wait for that run to end; if it was interrupted, ${resumeText(drain, host)}`;
  const target = drain.slot === undefined ? host : quote(`${host}/${drain.slot}`);
  const of = drain.owner === undefined ? '' : ` --of ${quote(loginOf(drain.owner))}`;
  return `run "azp-fleet undrain ${target}${of}" when it may take jobs again`;
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
