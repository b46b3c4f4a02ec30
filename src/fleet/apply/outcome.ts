import { defined } from '../../shared/base/defined.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { bugCode, troubleOf } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import type { Interruption } from './interruption.ts';

/** No session came about, or it was lost. A lock, a sudo password and the like are failures of a host that answers. */
const noWay = /^ssh\.(refused|timeout|unreachable|dns|host-|auth|handshake|jump|connection-lost)/;

/** How one host ended. */
export interface HostOutcome {
  readonly host: string;
  readonly state: 'ok' | 'changed' | 'failed' | 'unreachable' | 'skipped';
  /** How many changes were made. */
  readonly changes: number;
  /** It failed, or could not be reached, before any change was begun. */
  readonly untouched?: true;
  readonly problem?: Problem;
  readonly verdict?: Verdict;
  /** Of one that was skipped: what was cut short. */
  readonly interrupted?: Interruption;
}

/** The outcome where somebody has interrupted the run. */
export function interruptedOutcome(host: string, changes: number, interrupted?: Interruption): HostOutcome {
  return { host, state: 'skipped', changes, ...defined({ interrupted }) };
}

/** The outcome for an error. One of our bugs ends the work on its host too, and only there. */
export function failure(
  host: string,
  error: unknown,
  log: Logger,
  { changes, begun } = { changes: 0, begun: 0 },
): HostOutcome {
  const made = { changes, ...(begun === 0 ? ({ untouched: true } as const) : {}) };
  const problem = troubleOf(host, error, log);
  const unreachable = noWay.test(problem.code);
  return { host, state: unreachable ? 'unreachable' : 'failed', ...made, problem };
}

/** What the outcomes come to as an exit code. */
export function exitCodeOf(outcomes: readonly HostOutcome[]): ExitCode {
  if (outcomes.some(({ problem }) => problem?.code === bugCode)) return ExitCode.bug;
  return outcomes.some((outcome) => isBad(outcome) || outcome.problem !== undefined)
    ? ExitCode.hostFailed
    : ExitCode.ok;
}

/** The host's state counts against the exit code. A degraded host works. */
export function isBad({ state, verdict }: HostOutcome): boolean {
  return (
    state === 'failed' ||
    state === 'unreachable' ||
    ['failed', 'hung', 'unreachable', 'unknown'].includes(verdict?.state ?? '')
  );
}
