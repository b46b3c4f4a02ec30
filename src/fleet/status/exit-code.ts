import { ExitCode } from '../../shared/base/errors.ts';
import type { StatusRow } from './row.ts';

/**
 * With `drift`, pending changes come before the state of health, since they were asked for; a host or pool that could
 * not be read comes before both, since nothing is known about it. One that powered itself off is as it should be, but what
 * it lacks is not known. Degraded is well, unless `strict`.
 */
export function statusExitCode(
  rows: readonly StatusRow[],
  asked: {
    readonly strict: boolean;
    readonly drift: boolean;
    readonly fleetDrift: boolean;
    readonly problems: number;
  },
): ExitCode {
  const states = new Set(rows.map(({ verdict }) => verdict.state));
  const unread = states.has('unreachable') || (asked.drift && states.has('off'));
  if (unread || asked.problems > 0) return ExitCode.hostFailed;
  const pending = asked.fleetDrift || rows.some(({ drift = [] }) => drift.length > 0);
  if (asked.drift && pending) return ExitCode.changesPending;
  if (states.has('failed') || states.has('hung') || states.has('unknown')) return ExitCode.hostFailed;
  return asked.strict && states.has('degraded') ? ExitCode.hostFailed : ExitCode.ok;
}
