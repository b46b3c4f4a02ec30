import { FleetError } from '../../shared/base/errors.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import { changesNow } from '../facts/gather.ts';
import type { Facts, GatheredFacts } from '../facts/facts.ts';
import { reading, unreadProblem } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { HostTools } from './apply-tools.ts';
import { readFacts, type HostConnection } from './connection.ts';

/** A change of an earlier or disconnected run that may still run on the host. */
type ChangeInProgress = Facts['changes'][number];

function inProgress(changes: Facts['changes']): readonly ChangeInProgress[] {
  return changes.filter(({ state }) => state === 'running');
}

/** Returns changes that still run. Pure. */
export function changesInProgress(facts: GatheredFacts) {
  const read = reading(facts, 'changes');
  return read.kind === 'unknown' ? read : { kind: read.kind, value: inProgress(read.value.changes) };
}

/** Formats `"install driver" continues on the host as azp-fleet-change-driver-1.service`. Pure. */
export function inProgressLine({ title, id }: Pick<ChangeInProgress, 'title' | 'id'>): string {
  return `"${title}" continues on the host as ${changeUnit(id)}`;
}

/**
 * Waits until changes of an earlier run have ended, then reads the facts. Call it under the host's lock, before any change. Rejects
 * where it is unknown whether one still runs.
 */
export async function factsAfterChanges(
  connection: HostConnection,
  host: HostSpec,
  tools: HostTools,
): Promise<GatheredFacts> {
  const facts = await readFacts(connection, host, tools);
  const changes = changesInProgress(facts);
  if (changes.kind === 'unknown') throw new FleetError(unreadProblem(host.name, changes.unread));
  if (changes.value.length === 0) return facts;
  for (const change of changes.value) await followOne(change, connection, tools, host.name);
  return readFacts(connection, host, tools);
}

/** Waits for the end of a change, which systemd stops at its limit. Emits its output and end like those of a change of this run. */
async function followOne(
  change: ChangeInProgress,
  connection: HostConnection,
  { emit, clock, signal }: HostTools,
  host: string,
): Promise<void> {
  const { id, title, owner } = change;
  const note = (text: string) => emit({ kind: 'note', host, text });
  note(`"${title}", started by ${owner}, still runs on the host: waiting for its end`);
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
    // The facts show how it ended: what is still needed is not a failure of this run.
    if (signal.aborted || !hasEnded(error)) throw error;
    note(`${error.problem.what}; what is still needed is planned again`);
  } finally {
    const durationMs = Math.round(clock.monotonic() - since);
    emit({ kind: 'change-end', host, id, title, ok, durationMs, resumed: true });
  }
}

/** Tells whether it ended without a result: stopped at its limit, killed, or lost in a crash. */
function hasEnded(error: unknown): error is FleetError {
  const code = error instanceof FleetError ? error.problem.code : undefined;
  return code === 'ssh.change-died' || code === 'ssh.change-timeout';
}

/** What still runs on a host when a run ends there early. */
export type WorkLeft =
  /** `ended`: units of changes that have ended. */
  | { readonly kind: 'nothing'; readonly ended: readonly string[] }
  | { readonly kind: 'change'; readonly change: ChangeInProgress }
  /** The host cannot be read. */
  | { readonly kind: 'unknown' }
  /** Another run has the host's lock. */
  | { readonly kind: 'other-run' };

export const noWorkLeft: WorkLeft = { kind: 'nothing', ended: [] };

/** Returns what still runs on the host. Never rejects. */
export async function findWorkLeft(connection: HostConnection): Promise<WorkLeft> {
  try {
    const changes = await changesNow(await connection.session());
    const [change] = inProgress(changes);
    if (change !== undefined) return { kind: 'change', change };
    const ended = changes.flatMap(({ id, state }) => (state === 'done' ? [changeUnit(id)] : []));
    return { kind: 'nothing', ended };
  } catch (error) {
    const code = error instanceof FleetError ? error.problem.code : undefined;
    return { kind: code === 'ssh.lock-lost' || code === 'ssh.locked' ? 'other-run' : 'unknown' };
  }
}

/** How a run ended early on a host whose agents it drained. */
export interface EarlyEnd {
  /** A change was begun. */
  readonly begun: boolean;
  /** The user stopped the run: it cannot wait. */
  readonly interrupted: boolean;
  readonly workLeft: WorkLeft;
  /** The agents stay drained after a failed change, even where the GPUs work. */
  readonly staysDrained?: true;
}

/** What happens to the agents then, and why. */
export type AgentsAfter =
  | { readonly agents: 'enable' }
  /** Enabled if the probe succeeds. */
  | { readonly agents: 'enable-if-healthy' }
  /** Another run has the host, and decides. */
  | { readonly agents: 'leave'; readonly why: string }
  /** `stored`: the reason that the host stores, which must stay true after the change has ended. */
  | { readonly agents: 'keep-drained'; readonly why: string; readonly stored?: string };

/** Decides what happens to the agents. They stay drained while a change may still run, because no job may start beside it. Pure. */
export function agentsAfter({ begun, interrupted, workLeft, staysDrained }: EarlyEnd): AgentsAfter {
  if (workLeft.kind === 'other-run')
    return { agents: 'leave', why: 'this run lost its lock there; the next run enables them again' };
  if (workLeft.kind === 'change')
    return {
      agents: 'keep-drained',
      why: `${inProgressLine(workLeft.change)}; run again to follow it`,
      stored: `the run ended before ${changeUnit(workLeft.change.id)}`,
    };
  if (!begun) return { agents: 'enable' };
  if (interrupted)
    return { agents: 'keep-drained', why: 'interrupted before its proof; run again to continue' };
  if (workLeft.kind === 'unknown')
    return { agents: 'keep-drained', why: 'a change may still run on the host; run again to continue' };
  if (staysDrained === true) return { agents: 'keep-drained', why: 'a change failed and cannot be undone' };
  return { agents: 'enable-if-healthy' };
}
