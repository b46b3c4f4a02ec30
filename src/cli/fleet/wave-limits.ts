import { parseShare } from '../../base/share.ts';
import { defaultLimits, type WaveLimits } from '../../plan/waves/limits.ts';
import type { WavesPlan } from '../../plan/waves-plan.ts';
import type { Options } from '../options.ts';

/** What is typed goes before what a saved plan was made with, and that before the default. */
export function waveLimits(options: Options, saved?: WavesPlan): WaveLimits {
  return {
    maxUnavailable:
      options.share('maxUnavailable', { least: 1 }) ??
      parseShare(saved?.maxUnavailable ?? '') ??
      defaultLimits.maxUnavailable,
    maxFailures:
      options.share('maxFailures', { least: 0 }) ??
      parseShare(saved?.maxFailures ?? '') ??
      defaultLimits.maxFailures,
  };
}
