import { Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
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
import type { RunRecord } from '../../shared/contract/status.ts';
import {
  outputLost,
  type StopRequest,
  judge,
  type Outcome,
  sessionLeftSince,
  type Spans,
  spansOf,
} from './outcome.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { readAll, type Transcript } from './transcript.ts';
import type { Cause, Slot } from '../model.ts';
import { cancelIsLate, endOfJob, givenUpAt } from '../../shared/azure/job-requests.ts';
import type { PoolWatch } from '../pool/watch.ts';
import type { SlotBook } from '../slots/memory.ts';

export interface Ended extends Outcome, Spans {
  /** See `sessionLeftSince`. */
  readonly sessionLeftSince?: string;
}

type CollectTools = Pick<ManagerDeps, 'engine' | 'log'> & { readonly runStore: RunStore };

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
 * first, and its record is written afterwards.
 */
export async function collect(
  tools: CollectTools,
  container: OwnContainer,
  { followed, stopped, lastTry, keyEnd }: Before,
): Promise<Ended> {
  const [exit, output] = await Promise.all([
    tools.engine.exit(container.id),
    tools.engine.logs(container.id, keptLines).catch((error: unknown) => {
      // A container that Docker failed to remove has no output.
      if (isEngineFault(error, 'engine.conflict') || isEngineFault(error, 'engine.not-found')) return '';
      if (lastTry) return withoutIt(tools.log, container, error);
      throw error;
    }),
  ]);
  const log = typeof output === 'string' ? output : output.line;
  const transcript = readAll(typeof output === 'string' ? output : '');
  // The log is rotated: the job's name may be only in the transcript from the start.
  const whole = transcript.job === undefined ? (followed ?? transcript) : transcript;
  // Unknown whether it had a job: the end counts neither against the image nor as a run without a job.
  const isUnread = typeof output !== 'string' && followed === undefined && stopped === undefined;
  const outcome = isUnread ? { ranJob: false, cause: outputLost } : judge(exit, whole, stopped);
  const { labels } = container;
  const spans = spansOf(exit, whole);
  const record: RunRecord = {
    schema: 1,
    run: labels[Labels.run] ?? container.id.slice(0, 12),
    slot: labels[Labels.slot] ?? 'unknown',
    agent: container.name,
    image: labels[Labels.imageDigest] ?? container.image,
    gpus: (labels[Labels.gpus] ?? '').split(',').filter((gpu) => gpu !== ''),
    startedAt: exit.startedAt,
    finishedAt: exit.finishedAt,
    ...spans,
    exitCode: exit.code,
    oomKilled: exit.oomKilled,
    ...defined({ job: outcome.job, result: outcome.result, cause: outcome.cause }),
    log: log.split('\n').filter((line) => line !== ''),
  };
  const diagnostics = isFailed(outcome) ? await agentLogs(tools, container.id) : [];
  const keep = (): Promise<unknown> => keepRecord(tools.runStore, record, diagnostics);
  const failure = await keep();
  await keyEnd;
  await tools.engine.removeUnlessRunning(container.id);
  const again = failure === undefined ? undefined : await keep();
  if (again !== undefined)
    tools.log.log('warn', 'the record of a run could not be written', {
      run: record.run,
      slot: record.slot,
      ...causeOf(again),
    });
  return { ...outcome, ...spans, ...defined({ sessionLeftSince: sessionLeftSince(exit, whole) }) };
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

/** Returns the line that replaces the output. */
function withoutIt(log: Logger, { name }: OwnContainer, error: unknown): { readonly line: string } {
  const cause = causeOf(error);
  log.log('warn', 'removing an ended container without its output: Docker does not return it', {
    agent: name,
    ...cause,
  });
  return { line: `azp-fleet: Docker did not return the output of this run: ${foreignLine(cause.what)}` };
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
      .amend(slot.name, lastRun.run, ({ cause }) => ({
        unfinished,
        cause: cause ?? missing(unfinished, isLogged),
      }))
      // A full disk must not stop the pass.
      .catch((error: unknown) =>
        log.log('warn', 'the run record could not be written', { ...causeOf(error) }),
      );
  }
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
