import { Labels } from '../../shared/contract/paths.ts';
import type { ContainerExit, OwnContainer } from '../../shared/engine/engine.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { Logger } from '../../shared/base/log.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { causeOf } from '../causes.ts';
import {
  type Diagnostic,
  diagnosticLimits,
  diagnosticOf,
  isAgentLog,
  isFailed,
  keptLines,
  type RunStore,
} from './run-store.ts';
import { defined } from '../../shared/base/objects.ts';
import type { RunUse } from '../../shared/contract/history.ts';
import type { RunRecord } from '../../shared/contract/status.ts';
import {
  faultOf,
  outputLost,
  type StopRequest,
  judge,
  type Outcome,
  sessionLeftSince,
  type Spans,
  spansOf,
} from './outcome.ts';
import type { History } from '../history/history.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { readAll, type Transcript } from './transcript.ts';
import type { Cause, Slot } from '../model.ts';
import { cancelIsLate, endOfJob, givenUpAt } from '../../shared/azure/job-requests.ts';
import type { PoolWatch } from '../pool/watch.ts';
import type { SlotBook } from '../slots/memory.ts';

export interface Ended extends Outcome, Spans {
  /** Docker is still removing the container. */
  readonly isBeingRemoved?: boolean;
  /** GPU use of its job. */
  readonly use?: RunUse;
  /** See `sessionLeftSince`. */
  readonly sessionLeftSince?: string;
}

interface CollectTools extends Pick<ManagerDeps, 'engine' | 'log'> {
  readonly runStore: RunStore;
  readonly history: Pick<History, 'useOf' | 'runEnded'>;
}

/** What the manager has of a run before it reads how it ended. */
interface Before {
  /** The output that was read while the run was running. */
  readonly followed: Transcript | undefined;
  readonly stopped: StopRequest | undefined;
  /** The last attempt to read the output: without it the record is written without output. */
  readonly lastTry: boolean;
  /** Settles when the server has answered the replacement of the run's key; the container is removed afterwards. */
  readonly keyEnd: Promise<unknown>;
}

/**
 * Reads how a run ended, writes the run record, and removes the container. If the disk is full, the container is removed
 * first, and its record is written afterwards. A record that has the run's end and output stays: an earlier collection, whose
 * container Docker did not remove, wrote it.
 */
export async function collect(
  tools: CollectTools,
  container: OwnContainer,
  { followed, stopped, lastTry, keyEnd }: Before,
): Promise<Ended> {
  const { slot, run } = nameOf(container);
  const kept = await keptWhole(tools.runStore, slot, run);
  const [exit, output] = await Promise.all([
    tools.engine.exit(container.id),
    tools.engine.logs(container.id, keptLines).catch((error: unknown) => {
      // A container that Docker is removing, or failed to remove, has no output.
      const isGone = isEngineFault(error, 'engine.conflict') || isEngineFault(error, 'engine.not-found');
      if (isGone && kept !== undefined) return kept.log.join('\n');
      if (isGone || lastTry) return withoutIt(tools.log, container, error);
      throw error;
    }),
  ]);
  const transcript = readAll(typeof output === 'string' ? output : '');
  // The log is rotated: the job's name may be only in the transcript from the start.
  const whole = transcript.job === undefined ? (followed ?? transcript) : transcript;
  // Docker writes the year 1 for a container that was never started.
  const hasRun = !exit.startedAt.startsWith('0001-');
  // Unknown whether it had a job: the end counts neither against the image nor as a run without a job.
  const isUnread = typeof output !== 'string' && followed === undefined && stopped === undefined;
  const unread: Outcome = { ranJob: false, ...(hasRun ? { cause: outputLost } : {}) };
  const outcome = isUnread ? unread : judge(exit, whole, stopped);
  const spans = spansOf(exit, whole);
  const log = typeof output === 'string' ? output : output.line;
  const { job, result, cause } = outcome;
  const use = tools.history.useOf(run);
  const record = recordOf(container, exit, { ...defined({ job, result, cause, use }), ...spans }, log);
  const isWanted = kept === undefined && (hasRun || !isUnread);
  const diagnostics = isWanted && isFailed(outcome) ? await agentLogs(tools, container.id) : [];
  const keep = (): Promise<unknown> => keepRecord(tools.runStore, record, diagnostics);
  const failure = isWanted ? await keep() : undefined;
  if (isWanted) tools.history.runEnded(record);
  await keyEnd;
  const removal = await tools.engine.removeUnlessRunning(container.id);
  const again = failure === undefined ? undefined : await keep();
  if (again !== undefined)
    tools.log.log('warn', 'the record of a run could not be written', { run, slot, ...causeOf(again) });
  return {
    ...outcome,
    ...spans,
    ...defined({
      use,
      isBeingRemoved: removal === 'removing' ? true : undefined,
      sessionLeftSince: sessionLeftSince(exit, whole),
    }),
  };
}

function nameOf({ id, labels }: OwnContainer): { readonly slot: string; readonly run: string } {
  return { slot: labels[Labels.slot] ?? 'unknown', run: labels[Labels.run] ?? id.slice(0, 12) };
}

function recordOf(
  container: OwnContainer,
  exit: ContainerExit,
  ended: Omit<Outcome, 'ranJob'> & Spans & Pick<RunRecord, 'use'>,
  log: string,
): RunRecord {
  const { labels } = container;
  return {
    schema: 1,
    ...nameOf(container),
    agent: container.name,
    image: labels[Labels.imageDigest] ?? container.image,
    gpus: (labels[Labels.gpus] ?? '').split(',').filter((gpu) => gpu !== ''),
    startedAt: exit.startedAt,
    finishedAt: exit.finishedAt,
    exitCode: exit.code,
    oomKilled: exit.oomKilled,
    ...ended,
    log: log.split('\n').filter((line) => line !== ''),
  };
}

/** Returns the record of a run if it has the run's end and its output. */
async function keptWhole(
  runStore: Pick<RunStore, 'find'>,
  slot: string,
  run: string,
): Promise<RunRecord | undefined> {
  // Without a readable record the run is recorded again.
  const kept = await runStore.find(slot, run).catch(() => undefined);
  const [first] = kept?.log ?? [];
  return first === undefined || first.startsWith(noOutput) || kept?.finishedAt === '' ? undefined : kept;
}

/** Reads the agent's own logs, which are removed with its container; none if that fails. */
async function agentLogs(
  { engine }: Pick<ManagerDeps, 'engine'>,
  container: string,
): Promise<readonly Diagnostic[]> {
  const tails = await engine
    .readTails(container, AgentLayout.diagnostics, isAgentLog, diagnosticLimits)
    .catch(() => []);
  return tails.map(diagnosticOf);
}

/** Writes the run record; returns an error instead of throwing it. */
async function keepRecord(
  runStore: RunStore,
  record: RunRecord,
  diagnostics: readonly Diagnostic[],
): Promise<unknown> {
  try {
    await runStore.add(record);
    if (diagnostics.length > 0) await runStore.keepDiagnostics(record.slot, record.run, diagnostics);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Beginning of the line that replaces the output. */
const noOutput = 'azp-fleet: Docker did not return the output of this run';

/** Returns that line. */
function withoutIt(log: Logger, { name }: OwnContainer, error: unknown): { readonly line: string } {
  const cause = causeOf(error);
  log.log('warn', 'removing an ended container without its output: Docker does not return it', {
    agent: name,
    ...cause,
  });
  return { line: `${noOutput}: ${foreignLine(cause.what)}` };
}

/** The pool shows a change after up to this time. */
const settleMs = 5_000;

/**
 * Adds to a run's record that the server still shows its job, if the first read of the pool after the run does. Exit code 0
 * and a result on the console do not prove the end: the worker may have been killed, or the result lost.
 */
export async function noteUnfinished(
  { clock, runStore, log }: Pick<ManagerDeps, 'clock' | 'log'> & { readonly runStore: RunStore },
  pools: { of(slot: Slot): Pick<PoolWatch, 'at' | 'agent'> },
  book: SlotBook,
  slots: readonly Slot[],
  containers: readonly OwnContainer[],
): Promise<void> {
  for (const slot of slots) {
    const memory = book.of(slot.name);
    const { lastRun } = memory;
    const pool = pools.of(slot);
    if (lastRun === undefined) continue;
    const isFollowed = containers.some(({ labels }) => labels[Labels.slot] === slot.name);
    if (!isFollowed && pool.at <= lastRun.endedAt + clock.scaled(settleMs)) continue;
    memory.lastRun = undefined;
    const request = isFollowed ? undefined : pool.agent(slot.agent)?.assignedRequest;
    // With a next agent there is no job: none is registered while the server shows one.
    if (request === undefined) continue;
    const unfinished = {
      job: request.jobName ?? String(request.requestId),
      ...defined({ until: givenUpAt(request, clock) }),
    };
    log.log('warn', 'the server still shows a job of an agent that has ended', {
      slot: slot.name,
      ...unfinished,
    });
    const isLogged =
      (await runStore.diagnostics(slot.name, lastRun.run).catch(() => undefined)) !== undefined;
    await runStore
      .amend(slot.name, lastRun.run, (record) => ({
        unfinished,
        cause: withMissing(faultOf(record), missing(unfinished, isLogged)),
      }))
      // A full disk must not stop the pass.
      .catch((error: unknown) =>
        log.log('warn', 'the run record could not be written', { ...causeOf(error) }),
      );
  }
}

/** Adds that a job has no result to the known fault of its run, which stays its cause. */
function withMissing(fault: RunRecord['cause'], result: Cause): NonNullable<RunRecord['cause']> {
  return fault === undefined ? result : { ...fault, what: `${fault.what}; ${result.what}` };
}

/** Describes a job without a result. `isLogged`: the agent's own logs were kept, as after a fault. */
function missing(
  { job, until }: { readonly job: string; readonly until?: string },
  isLogged: boolean,
): Cause {
  const logs = isLogged
    ? "the agent's own logs (azp-fleet logs HOST/SLOT --diag)"
    : "the run's log (azp-fleet logs HOST/SLOT)";
  return {
    code: 'run.result-missing',
    what: `the server still shows job ${job} as running; it gives it up ${endOfJob(until)}`,
    next: `check ${logs}: its worker was killed, or the result did not arrive; run the job again after that: ${cancelIsLate}`,
  };
}
