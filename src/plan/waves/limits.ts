import { shareOf, type Share } from '../../base/share.ts';

/** How much of a fleet one run may take away at a time, and how much of it may go wrong. */
export interface WaveLimits {
  /** Of the hosts of each pool. */
  readonly maxUnavailable: Share;
  /** Of the hosts that the waves change: more failures than this, and nothing more is begun. */
  readonly maxFailures: Share;
}

/** A quarter, as of Kubernetes' rolling updates; the first failure stops. */
export const defaultLimits: WaveLimits = {
  maxUnavailable: { kind: 'percent', percent: 25 },
  maxFailures: { kind: 'count', count: 0 },
};

/**
 * How many hosts of a pool may be out of work at a time: one at least, else no change ever comes about, and never all of
 * several, unless 100% was asked for by that name.
 */
export function mayBeDown(poolSize: number, { maxUnavailable }: WaveLimits): number {
  if (maxUnavailable.kind === 'percent' && maxUnavailable.percent === 100) return poolSize;
  return Math.max(1, Math.min(shareOf(maxUnavailable, poolSize), poolSize - 1));
}
