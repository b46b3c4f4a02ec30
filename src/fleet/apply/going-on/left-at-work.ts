import { FleetError } from '../../../shared/base/errors.ts';
import { changeUnit } from '../../../shared/contract/paths.ts';
import { changesNow } from '../../facts/changes-now.ts';
import type { HostConnection } from '../connection.ts';
import { goesOnLine, goingOn, type GoingOn } from './follow.ts';

/** What is at work on a host when a run ends there early. */
export type AtWork =
  /** `ended`: units of changes that have come to their end. */
  | { readonly kind: 'nothing'; readonly ended: readonly string[] }
  | { readonly kind: 'change'; readonly change: GoingOn }
  /** The host cannot be asked. */
  | { readonly kind: 'unknown' }
  /** The lock is no longer ours: what is there now is somebody else's. */
  | { readonly kind: 'others' };

export const nothingAtWork: AtWork = { kind: 'nothing', ended: [] };

/** Asks the host. Never rejects. */
export async function leftAtWork(connection: HostConnection): Promise<AtWork> {
  try {
    const changes = await changesNow(await connection.session());
    const [change] = goingOn(changes);
    if (change !== undefined) return { kind: 'change', change };
    const ended = changes.flatMap(({ id, state }) => (state === 'done' ? [changeUnit(id)] : []));
    return { kind: 'nothing', ended };
  } catch (error) {
    const code = error instanceof FleetError ? error.problem.code : undefined;
    return { kind: code === 'ssh.lock-lost' || code === 'ssh.locked' ? 'others' : 'unknown' };
  }
}

/** How the work ended early on a host whose agents were drained for it. */
export interface EarlyEnd {
  /** A change was begun. */
  readonly begun: boolean;
  /** Somebody stopped the run: nothing can be waited for. */
  readonly interrupted: boolean;
  readonly atWork: AtWork;
}

/** What becomes of the agents then: back to work, or kept from it, and why; `leave`: not even that is ours to say. */
export type Aftermath =
  | { readonly agents: 'back' }
  /** Back where the host works in spite of it. */
  | { readonly agents: 'back-if-well' }
  | { readonly agents: 'leave'; readonly why: string }
  /** `mark`: what the mark on the host says, where that must still be true when somebody reads it. */
  | { readonly agents: 'kept'; readonly why: string; readonly mark?: string };

/** No job may start beside a change that goes on: as long as one may, agents are not given back. Pure. */
export function aftermath({ begun, interrupted, atWork }: EarlyEnd): Aftermath {
  if (atWork.kind === 'others')
    return { agents: 'leave', why: 'this run has lost its lock there; the next run gives them back' };
  if (atWork.kind === 'change')
    return {
      agents: 'kept',
      why: `${goesOnLine(atWork.change)}; run again to follow it`,
      mark: `the run ended before ${changeUnit(atWork.change.id)}`,
    };
  if (!begun) return { agents: 'back' };
  if (interrupted) return { agents: 'kept', why: 'interrupted before it was proven; run again to go on' };
  if (atWork.kind === 'unknown')
    return { agents: 'kept', why: 'what was begun may still go on on the host; run again to go on' };
  return { agents: 'back-if-well' };
}
