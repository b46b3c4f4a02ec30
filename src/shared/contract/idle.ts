import { elapsed } from '../base/quantities.ts';
import { minuteOf } from './drain.ts';

/** What powers an unused machine off. */
export interface IdleConfig {
  /** Seconds without any use. */
  readonly afterS: number;
  /** `poweroff`, or the absolute path of a program of the owner's, run as root without arguments. */
  readonly run: string;
}

/** Its progress, in the manager's status. */
export interface IdleStatus extends IdleConfig {
  /** Seconds without any use so far. */
  readonly idleS: number;
  /** What keeps the machine on now; absent: nothing does. */
  readonly stays?: { readonly what: string; readonly next: string };
  /** The agents are being sent away, or the machine is being ended. */
  readonly ending?: boolean;
}

const powered = 'powered off: idle since ';

/** What the pool says of agents whose machine is being ended. `since`: ISO 8601. Pure. */
export function offReason(since: string): string {
  return `${powered}${minuteOf(since) ?? 'an unknown time'}`;
}

/** `idle since 2026-11-22 13:05 UTC` of such a reason; undefined: it is another. Pure. */
export function offSince(reason: string | undefined): string | undefined {
  return reason?.startsWith(powered) === true ? reason.slice('powered off: '.length) : undefined;
}

/** `idle for 12 min, powers off in 18 min`; `stays on: lab is logged in since …`. Pure. */
export function idleLine({ afterS, run, idleS, stays, ending }: IdleStatus): string {
  if (ending === true) return `idle for ${spoken(idleS)}, ${endsNow(run)} now`;
  if (stays !== undefined) return `stays on: ${stays.what}`;
  return `idle for ${spoken(idleS)}, ${endsNow(run)} in ${spoken(Math.max(0, afterS - idleS))}`;
}

function endsNow(run: string): string {
  return run === 'poweroff' ? 'powers off' : `runs ${run}`;
}

/** In whole minutes, the last one in seconds. */
function spoken(seconds: number): string {
  return elapsed(seconds < 60 ? seconds * 1000 : Math.floor(seconds / 60) * 60_000);
}
