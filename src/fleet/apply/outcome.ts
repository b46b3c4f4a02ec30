import { defined } from '../../shared/base/objects.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { bugCode, hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Verdict } from '../../shared/health/verdict.ts';

/** No session was opened, or it was lost. A lock or a sudo password is a failure of a host that answers. */
const noSession = /^ssh\.(refused|timeout|unreachable|dns|host-|auth|handshake|jump|connection-lost)/;

/** The outcome of a run on one host. */
export interface HostOutcome {
  readonly host: string;
  readonly state: 'ok' | 'changed' | 'failed' | 'unreachable' | 'skipped';
  /** Number of changes that were made. */
  readonly changes: number;
  /** It failed, or was unreachable, before any change was begun. */
  readonly untouched?: true;
  readonly problem?: Problem;
  readonly verdict?: Verdict;
  /** What was interrupted on a skipped host. */
  readonly interrupted?: Interruption;
}

/** Returns the outcome of an interrupted run. */
export function interruptedOutcome(host: string, changes: number, interrupted?: Interruption): HostOutcome {
  return { host, state: 'skipped', changes, ...defined({ interrupted }) };
}

/** Returns the outcome for an error. A bug of azp-fleet, too, ends the run only on its host. */
export function failure(
  host: string,
  error: unknown,
  log: Logger,
  { changes, begun } = { changes: 0, begun: 0 },
): HostOutcome {
  const made = { changes, ...(begun === 0 ? ({ untouched: true } as const) : {}) };
  const problem = hostProblem(host, error, log);
  const unreachable = noSession.test(problem.code);
  return { host, state: unreachable ? 'unreachable' : 'failed', ...made, problem };
}

/** Returns the exit code of the outcomes. */
export function exitCodeOf(outcomes: readonly HostOutcome[]): ExitCode {
  if (outcomes.some(({ problem }) => problem?.code === bugCode)) return ExitCode.bug;
  return outcomes.some((outcome) => isBad(outcome) || outcome.problem !== undefined)
    ? ExitCode.hostFailed
    : ExitCode.ok;
}

/** Tells whether the host's state makes the exit code an error. A degraded host works. */
export function isBad({ state, verdict }: HostOutcome): boolean {
  return (
    state === 'failed' ||
    state === 'unreachable' ||
    ['failed', 'hung', 'unreachable', 'unknown'].includes(verdict?.state ?? '')
  );
}

/** What a run was doing on a host when it was interrupted. Absent: nothing yet, or it was between two changes. */
export type Interruption =
  | { readonly during: 'drain' }
  /** `continues`: on the host without the run; `unit`: its systemd unit. A unit that does not continue has ended. */
  | { readonly during: 'change'; readonly title: string; readonly continues: boolean; readonly unit?: string }
  | { readonly during: 'proof' };

/** Thrown instead of the error that an aborted signal causes. */
export class Interrupted extends Error {
  readonly at: Interruption;
  constructor(at: Interruption, cause: unknown) {
    super('interrupted', { cause });
    this.at = at;
  }
}

/** Returns one line: what was done, what was interrupted, and what to do. Pure. */
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

function restOf({ continues, unit }: Extract<Interruption, { during: 'change' }>): string {
  if (continues)
    return `which continues on the host${unit === undefined ? '' : ` as ${unit}`}; run again to follow it`;
  return unit === undefined
    ? 'which may be half done; run again to finish it'
    : 'which has ended on the host since; run again to continue';
}
