import type { Verdict } from '../../../shared/health/verdict.ts';
import { isBad, type HostOutcome } from '../outcome.ts';

/**
 * What a host's end says about the change: `untouched` says nothing about it, because none was begun there: it could not
 * be reached, somebody else works on it, or its jobs did not end.
 */
export type Judgement = 'healthy' | 'failed' | 'untouched';

/**
 * By the verdict where the host was proven, and by whether its changes were made where that was not asked for. `before`:
 * the verdict until then; a host that is degraded as it was is none the worse for the change. Pure.
 */
export function judge(outcome: HostOutcome, before: Verdict | undefined): Judgement {
  const { state, verdict } = outcome;
  if (outcome.untouched === true) return 'untouched';
  const well = verdict === undefined ? state === 'ok' || state === 'changed' : isAsGood(verdict, before);
  return well && !isBad(outcome) ? 'healthy' : 'failed';
}

/** Nothing is wrong that was not before. Texts are not compared: they count, and tell how far something is. */
function isAsGood({ state, troubles }: Verdict, before: Verdict | undefined): boolean {
  if (state === 'healthy') return true;
  if (state !== 'degraded' || before?.state !== state || troubles === undefined) return false;
  return troubles.every(({ code, on }) => before.troubles?.some((was) => was.code === code && was.on === on));
}

/** Why, in a few words: what the host is like after it says more than where the work on it has ended. Pure. */
export function causeOf({ problem, verdict }: HostOutcome): string {
  if (problem !== undefined) return verdict?.cause ?? problem.what;
  if (verdict === undefined || verdict.cause === '') return 'it was interrupted';
  return verdict.state === 'degraded' ? `degraded: ${verdict.cause}` : verdict.cause;
}
