import { Labels } from '../../contract/paths.ts';
import type { OwnContainer } from '../../engine/engine.ts';
import { isEngineFault } from '../../engine/fault.ts';
import { keptLines, type Evidence } from './evidence.ts';
import type { RunRecord } from '../../contract/runs.ts';
import { judge, type Outcome } from './outcome.ts';
import type { Outside } from '../outside.ts';
import { readAll, type Transcript } from './transcript.ts';

/** Reads how a run ended, keeps the evidence, removes the container. */
export async function collect(
  tools: Pick<Outside, 'engine'> & { readonly evidence: Evidence },
  container: OwnContainer,
  followed: Transcript | undefined,
  asked: boolean,
): Promise<Outcome & { readonly durationS: number }> {
  const [exit, log] = await Promise.all([
    tools.engine.exit(container.id),
    // A container that Docker failed to remove has no output any more; it goes all the same.
    tools.engine.logs(container.id, keptLines).catch(ignoreLost),
  ]);
  const transcript = readAll(log);
  // The log is rotated: what was followed from the start may know the job's name when the tail does not.
  const outcome = judge(exit, transcript.job === undefined ? (followed ?? transcript) : transcript, asked);
  const { labels } = container;
  const durationS = Math.max(0, (Date.parse(exit.finishedAt) - Date.parse(exit.startedAt)) / 1000);
  const record: RunRecord = {
    schema: 1,
    run: labels[Labels.run] ?? container.id.slice(0, 12),
    slot: labels[Labels.slot] ?? 'unknown',
    agent: container.name,
    image: labels[Labels.imageDigest] ?? container.image,
    gpus: (labels[Labels.gpus] ?? '').split(',').filter((gpu) => gpu !== ''),
    startedAt: exit.startedAt,
    finishedAt: exit.finishedAt,
    durationS,
    exitCode: exit.code,
    oomKilled: exit.oomKilled,
    ...(outcome.job === undefined ? {} : { job: outcome.job }),
    ...(outcome.result === undefined ? {} : { result: outcome.result }),
    ...(outcome.cause === undefined ? {} : { cause: outcome.cause }),
    log: log.split('\n').filter((line) => line !== ''),
  };
  await tools.evidence.add(record);
  await tools.engine.removeUnlessRunning(container.id);
  return { ...outcome, durationS };
}

function ignoreLost(error: unknown): string {
  if (isEngineFault(error, 'engine.conflict') || isEngineFault(error, 'engine.not-found')) return '';
  throw error;
}
