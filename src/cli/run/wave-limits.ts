import { parseShare } from '../../shared/base/quantities.ts';
import type { Fleet, WaveLimits } from '../../fleet/inventory/fleet.ts';
import type { WavesPlan } from '../../fleet/plan/fleet-plan.ts';
import type { Options } from '../options.ts';

/** What is typed goes before what a saved plan was made with, and that before what the inventory says. */
export function waveLimits(options: Options, { waves }: Fleet, saved?: WavesPlan): WaveLimits {
  return {
    maxUnavailable:
      options.share('maxUnavailable', { least: 1 }) ??
      parseShare(saved?.maxUnavailable ?? '') ??
      waves.maxUnavailable,
    maxFailures:
      options.share('maxFailures', { least: 0 }) ?? parseShare(saved?.maxFailures ?? '') ?? waves.maxFailures,
  };
}
