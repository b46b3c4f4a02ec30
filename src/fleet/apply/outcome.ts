import { defined } from '../../shared/base/objects.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { bugCode, hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Verdict } from '../../shared/health/verdict.ts';

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

/** Returns the outcome of an interrupted run. */
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
  const problem = hostProblem(host, error, log);
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

/** What a run did on a host when it was interrupted. Absent: nothing yet, or it was between two changes. */
export type Interruption =
  | { readonly during: 'drain' }
  /** `goesOn`: on the host, by itself; `unit`: as this unit of systemd. A unit that does not go on has ended. */
  | { readonly during: 'change'; readonly title: string; readonly goesOn: boolean; readonly unit?: string }
  | { readonly during: 'proof' };

/** Thrown in place of what an aborted signal makes of a change. */
export class Interrupted extends Error {
  readonly at: Interruption;
  constructor(at: Interruption, cause: unknown) {
    super('interrupted', { cause });
    this.at = at;
  }
}

/** What was done, what was interrupted, and what to do: one line. Pure. */
export function interruptionLine(changes: number, at: Interruption | undefined): string {
  const made = changes === 0 ? 'nothing changed' : `${changes} ${changes === 1 ? 'change' : 'changes'} made`;
  return `${made}; ${rest(changes, at)}`;
}

function rest(changes: number, at: Interruption | undefined): string {
  switch (at?.during) {
    case 'proof':
      return 'interrupted while proving; run again to prove it';
    case 'drain':
      return 'interrupted while waiting for jobs, which continue; run again to continue';
    case 'change':
      return `interrupted during "${at.title}", ${restOf(at)}`;
    default:
      return `interrupted before the ${changes === 0 ? 'first' : 'next'} one; run again to continue`;
  }
}

function restOf({ goesOn, unit }: Extract<Interruption, { during: 'change' }>): string {
  if (goesOn)
    return `which continues on the host${unit === undefined ? '' : ` as ${unit}`}; run again to follow it`;
  return unit === undefined
    ? 'which may be half done; run again to finish it'
    : 'which has ended on the host since; run again to continue';
}
