import { shareOf } from '../../../shared/base/quantities.ts';
import type { WaveLimits } from '../../inventory/fleet.ts';

/**
 * How many hosts of a pool may be out of work at a time: one at least, else no change ever comes about, and never all of
 * several, unless 100% was asked for by that name.
 */
export function mayBeDown(poolSize: number, { maxUnavailable }: WaveLimits): number {
  if (maxUnavailable.kind === 'percent' && maxUnavailable.percent === 100) return poolSize;
  return Math.max(1, Math.min(shareOf(maxUnavailable, poolSize), poolSize - 1));
}
