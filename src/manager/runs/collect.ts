import { Labels } from '../../contract/paths.ts';
import type { OwnContainer } from '../../engine/engine.ts';
import { isEngineFault } from '../../engine/fault.ts';
import { AgentLayout } from '../../image/layout.ts';
import { causeOf } from '../causes.ts';
import { diagnosticLimits, diagnosticOf, isAgentLog, isFailed, type Diagnostic } from './diagnostics.ts';
import { keptLines, type Evidence } from './evidence.ts';
import { defined } from '../../base/defined.ts';
import type { RunRecord } from '../../contract/runs.ts';
import { judge, type Asked, type Outcome } from './outcome.ts';
import type { Outside } from '../outside.ts';
import { sessionLeftSince } from './session-end.ts';
import { spansOf, type Spans } from './spans.ts';
import { readAll, type Transcript } from './transcript.ts';

export interface Ended extends Outcome, Spans {
  /** See sessionLeftSince. */
  readonly sessionLeftSince?: string;
}

type CollectTools = Pick<Outside, 'engine' | 'log'> & { readonly evidence: Evidence };

/**
 * Reads how a run ended, keeps the evidence, removes the container. Evidence is kept where it can be: a job that has
 * filled the disk goes all the same, and its evidence is written after it.
 */
export async function collect(
  tools: CollectTools,
  container: OwnContainer,
  followed: Transcript | undefined,
  asked: Asked | undefined,
): Promise<Ended> {
  const [exit, log] = await Promise.all([
    tools.engine.exit(container.id),
    // A container that Docker failed to remove has no output any more; it goes all the same.
    tools.engine.logs(container.id, keptLines).catch(ignoreLost),
  ]);
  const transcript = readAll(log);
  // The log is rotated: what was followed from the start may know the job's name when the tail does not.
  const told = transcript.job === undefined ? (followed ?? transcript) : transcript;
  const outcome = judge(exit, told, asked);
  const { labels } = container;
  const spans = spansOf(exit, told);
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
  const keep = (): Promise<unknown> => keepEvidence(tools.evidence, record, diagnostics);
  const failure = await keep();
  await tools.engine.removeUnlessRunning(container.id);
  const again = failure === undefined ? undefined : await keep();
  if (again !== undefined)
    tools.log.log('warn', 'the evidence of a run could not be kept', {
      run: record.run,
      slot: record.slot,
      ...causeOf(again),
    });
  return { ...outcome, ...spans, ...defined({ sessionLeftSince: sessionLeftSince(exit, told) }) };
}

/** The agent's own logs go with its container. Without them the evidence is what it is. */
async function agentLogs(
  { engine }: Pick<Outside, 'engine'>,
  container: string,
): Promise<readonly Diagnostic[]> {
  const tails = await engine
    .readTails(container, AgentLayout.diagnostics, isAgentLog, diagnosticLimits)
    .catch(() => []);
  return tails.map(diagnosticOf);
}

/** What kept it from being written; undefined: it is kept. */
async function keepEvidence(
  evidence: Evidence,
  record: RunRecord,
  diagnostics: readonly Diagnostic[],
): Promise<unknown> {
  try {
    await evidence.add(record);
    if (diagnostics.length > 0) await evidence.keepDiagnostics(record.slot, record.run, diagnostics);
    return undefined;
  } catch (error) {
    return error;
  }
}

function ignoreLost(error: unknown): string {
  if (isEngineFault(error, 'engine.conflict') || isEngineFault(error, 'engine.not-found')) return '';
  throw error;
}
