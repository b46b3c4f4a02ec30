import { FleetError } from '../../shared/base/errors.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import { changesNow } from '../facts/gather.ts';
import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { HostTools } from './apply-tools.ts';
import { readFacts, type HostConnection } from './connection.ts';

/** A change of an earlier run, or of one that has lost its host, which goes on there by itself. */
type ChangeInProgress = Facts['changes'][number];

/** Those that go on. Pure. */
export function changesInProgress(changes: Facts['changes']): readonly ChangeInProgress[] {
  return changes.filter(({ state }) => state === 'running');
}

/** `"install driver" continues on the host as azp-fleet-change-driver-1.service`. Pure. */
export function inProgressLine({ title, id }: Pick<ChangeInProgress, 'title' | 'id'>): string {
  return `"${title}" continues on the host as ${changeUnit(id)}`;
}

/**
 * The facts once nothing of an earlier run goes on: its changes are followed to their end, and what they have come to
 * shows in the facts. To be called under the host's lock, before anything is begun.
 */
export async function factsOnceQuiet(
  connection: HostConnection,
  host: HostSpec,
  tools: HostTools,
): Promise<Facts> {
  const facts = await readFacts(connection, host, tools);
  if (changesInProgress(facts.changes).length === 0) return facts;
  for (const change of changesInProgress(facts.changes))
    await followOne(change, connection, tools, host.name);
  return readFacts(connection, host, tools);
}

/** systemd ends the unit at its limit: that bounds the wait. Its output and its end are told as of our own. */
async function followOne(
  change: ChangeInProgress,
  connection: HostConnection,
  { emit, clock, signal }: HostTools,
  host: string,
): Promise<void> {
  const { id, title, owner } = change;
  const note = (text: string) => emit({ kind: 'note', host, text });
  note(`"${title}", started by ${owner}, still runs here: following it to its end`);
  const since = clock.monotonic();
  emit({ kind: 'change-start', host, id, title, since });
  let ok = false;
  try {
    const session = await connection.session();
    const result = await session.follow(id, {
      signal,
      onLine: (line) => emit({ kind: 'change-output', host, id, line }),
    });
    ok = result === undefined || result.code === 0;
    if (result !== undefined && !ok)
      note(`"${title}" has ended with exit code ${result.code}; what is still needed is planned again`);
  } catch (error) {
    if (signal.aborted) note(`${inProgressLine(change)}; run again to follow it`);
    // How it has ended is for the facts to show: what is still needed is not this run's failure.
    if (signal.aborted || !hasEnded(error)) throw error;
    note(`${error.problem.what}; what is still needed is planned again`);
  } finally {
    const durationMs = Math.round(clock.monotonic() - since);
    emit({ kind: 'change-end', host, id, title, ok, durationMs, resumed: true });
  }
}

/** It ended without a result: it was stopped at its limit, killed, or lost with a crash. */
function hasEnded(error: unknown): error is FleetError {
  const code = error instanceof FleetError ? error.problem.code : undefined;
  return code === 'ssh.change-died' || code === 'ssh.change-timeout';
}

/** What is at work on a host when a run ends there early. */
export type AtWork =
  /** `ended`: units of changes that have come to their end. */
  | { readonly kind: 'nothing'; readonly ended: readonly string[] }
  | { readonly kind: 'change'; readonly change: ChangeInProgress }
  /** The host cannot be asked. */
  | { readonly kind: 'unknown' }
  /** The lock is no longer ours: another run works on the host. */
  | { readonly kind: 'others' };

export const nothingAtWork: AtWork = { kind: 'nothing', ended: [] };

/** Asks the host. Never rejects. */
export async function leftAtWork(connection: HostConnection): Promise<AtWork> {
  try {
    const changes = await changesNow(await connection.session());
    const [change] = changesInProgress(changes);
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
    return { agents: 'leave', why: 'this run lost its lock there; the next run enables them again' };
  if (atWork.kind === 'change')
    return {
      agents: 'kept',
      why: `${inProgressLine(atWork.change)}; run again to follow it`,
      mark: `the run ended before ${changeUnit(atWork.change.id)}`,
    };
  if (!begun) return { agents: 'back' };
  if (interrupted) return { agents: 'kept', why: 'interrupted before its proof; run again to continue' };
  if (atWork.kind === 'unknown')
    return { agents: 'kept', why: 'a change may still run on the host; run again to continue' };
  return { agents: 'back-if-well' };
}
