import type { Clock } from '../../shared/base/clock.ts';

/** While nothing happens: a thousand managers make two hundred looks a minute. */
const idleMs = 5 * 60_000;
/** While something is waited for that only the pool tells. */
const waitingMs = 60_000;
/** Runs that begin and end make looks no more often than this. */
const eventMs = 60_000;
/** After a failure: soon again, so that a pool that appears or a network that comes back is noticed. */
const retryMs = 15_000;
/** What has failed for long is asked for less often: after a quarter of that time, and never later than this. */
const longestRetryMs = 2 * 60_000;

/** What decides when a pool is looked at next; times are monotonic. */
export interface Looks {
  /** When the last look was begun. */
  readonly at: number;
  /** Since when looks fail; undefined: the last one did not. */
  readonly failingSince: number | undefined;
  /** Somebody wants to know what the pool shows at or after this time. */
  readonly wantedAt: number | undefined;
  /** It does not wait: a person has asked for something, or a call has failed. */
  readonly urgent: boolean;
  /** Only the pool tells when something that is waited for has come. */
  readonly waiting: boolean;
  /** The last look was the first, or the first that did not fail again: many hosts have looked in the same moment. */
  readonly together: boolean;
  /** From 0 up to 1, another one for each look: hosts that were started together do not ask together. */
  readonly chance: number;
}

/** When the pool is looked at next; monotonic. Pure. */
export function nextLook(looks: Looks, { scaled }: Pick<Clock, 'scaled'>): number {
  const { at, failingSince, wantedAt, urgent, waiting, together, chance } = looks;
  if (urgent) return at;
  const spread = 0.8 + chance * 0.4;
  if (failingSince !== undefined) {
    const pause = Math.min(Math.max((at - failingSince) / 4, scaled(retryMs)), scaled(longestRetryMs));
    return at + pause * spread;
  }
  // Over the whole time, once: then no minute has more looks than another, however hosts were started.
  const due = at + scaled(waiting ? waitingMs : idleMs) * (together ? chance : spread);
  return wantedAt === undefined ? due : Math.min(due, Math.max(wantedAt, at + scaled(eventMs) * spread));
}
