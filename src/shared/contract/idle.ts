import { elapsed } from '../base/quantities.ts';
import { minuteOf } from './drain.ts';

/** When and how an unused machine powers off. */
export interface IdleConfig {
  /** Seconds without use before it powers off. */
  readonly afterS: number;
  /** `poweroff`, or the absolute path of the owner's program, run as root without arguments. */
  readonly run: string;
}

/** Idle time of the machine, in the manager's status. */
export interface IdleStatus extends IdleConfig {
  /** Seconds without use so far. */
  readonly idleS: number;
  /** The reason why the machine stays on; absent: none. */
  readonly stays?: { readonly what: string; readonly next: string };
  /** The agents are stopping, or the machine is powering off. */
  readonly ending?: boolean;
}

const powered = 'powered off: idle since ';

/** Returns the reason that the pool shows for agents of a machine that powers off. `since`: ISO 8601. Pure. */
export function offReason(since: string): string {
  return `${powered}${minuteOf(since) ?? 'an unknown time'}`;
}

/** Returns `idle since 2026-11-22 13:05 UTC` from such a reason; undefined for another reason. Pure. */
export function offSince(reason: string | undefined): string | undefined {
  return reason?.startsWith(powered) === true ? reason.slice('powered off: '.length) : undefined;
}

/** Returns `idle for 12 min, powers off in 18 min`, or `stays on: lab is logged in since …`. Pure. */
export function idleLine({ afterS, run, idleS, stays, ending }: IdleStatus): string {
  if (ending === true) return `idle for ${rounded(idleS)}, ${actionOf(run)} now`;
  if (stays !== undefined) return `stays on: ${stays.what}`;
  return `idle for ${rounded(idleS)}, ${actionOf(run)} in ${rounded(Math.max(0, afterS - idleS))}`;
}

function actionOf(run: string): string {
  return run === 'poweroff' ? 'powers off' : `runs ${run}`;
}

/** Returns whole minutes, or seconds below one minute. */
function rounded(seconds: number): string {
  return elapsed(seconds < 60 ? seconds * 1000 : Math.floor(seconds / 60) * 60_000);
}
