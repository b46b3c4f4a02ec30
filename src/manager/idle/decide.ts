import type { Use } from './use.ts';

/** A login that is younger has come to look. Unscaled milliseconds, as those below. */
export const visitMs = 60_000;
/** Agents without a job are disabled, looked at again and stopped within some 20 s. */
export const leavingMs = 10 * 60_000;
/** A machine that runs longer after it was told to end does not end. */
export const endingMs = 10 * 60_000;
/**
 * The same where the order failed. That alone proves nothing: a machine that goes down ends whoever waits for the answer.
 */
export const failedMs = 60_000;

/** `leaving`: the agents are being sent away; `ending`: the machine has been told to end. */
export type Phase = 'on' | 'leaving' | 'ending';

/** What is known at one look; times are monotonic. */
export interface IdleView {
  readonly now: number;
  /** Without any use for so long, as it passes on the clock. */
  readonly afterMs: number;
  /** When it was last in use; at first when the manager was started, which no machine is before its boot. */
  readonly usedAt: number;
  readonly phase: Phase;
  readonly phaseAt: number;
  /** The machine was told to end, and the answer was no success. */
  readonly failed: boolean;
  /** What keeps it on, and since when that has been seen. */
  readonly uses: readonly (Use & { readonly seenAt: number })[];
  /** No agent is there, none is being started, and the server shows all of ours disabled and without a job. */
  readonly closed: boolean;
  /** An unscaled duration as it passes on the clock. */
  readonly scaled: (ms: number) => number;
}

export type IdleStep =
  /** In use: counted anew. */
  | { readonly kind: 'used'; readonly by: Use }
  /** It would end, and somebody is looking. */
  | { readonly kind: 'visited'; readonly by: Use }
  | { readonly kind: 'wait' }
  /** The agents are sent away. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'end' }
  /** It did not come to its end: the agents work again, and it is counted anew. */
  | { readonly kind: 'give-up'; readonly phase: Phase };

/** What becomes of a machine that may end by itself. Pure. */
export function decideIdle(view: IdleView): IdleStep {
  const { now, afterMs, usedAt, phase, phaseAt, failed, uses, closed, scaled } = view;
  // Nothing takes back what the machine was told.
  if (phase === 'ending')
    return now - phaseAt >= scaled(failed ? failedMs : endingMs)
      ? { kind: 'give-up', phase }
      : { kind: 'wait' };
  const lasting = uses.find(({ kind, seenAt }) => kind === 'use' || now - seenAt >= scaled(visitMs));
  if (lasting !== undefined) return { kind: 'used', by: lasting };
  if (now - usedAt < afterMs) return { kind: 'wait' };
  const [visit] = uses;
  if (visit !== undefined) return { kind: 'visited', by: visit };
  if (phase === 'on') return { kind: 'leave' };
  if (closed) return { kind: 'end' };
  return now - phaseAt >= scaled(leavingMs) ? { kind: 'give-up', phase } : { kind: 'leave' };
}
