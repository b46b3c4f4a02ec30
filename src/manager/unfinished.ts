import { defined } from '../shared/base/objects.ts';
import { Labels } from '../shared/contract/paths.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import { causeOf } from './causes.ts';
import type { ManagerTools } from './manager-tools.ts';
import type { Cause, Slot } from './model.ts';
import { givenUpAt } from './pool/given-up.ts';
import type { PoolWatch } from './pool/watch.ts';
import type { SlotBook } from './slots/memory.ts';

/** What the server shows lags behind what it was told. */
const settleMs = 5_000;

/**
 * Exit code 0 and a result on the console do not prove that the server knows how a job ended: the worker was killed, or
 * the result did not arrive. Where the first look at the pool after a run's end still shows a job on its agent, the run's
 * evidence says so.
 */
export async function noteUnfinished(
  { clock, runStore, log }: Pick<ManagerTools, 'clock' | 'runStore' | 'log'>,
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
    // The next agent would not have been registered while the server shows a job.
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
      // A disk that is full must not stop the looks.
      .catch((error: unknown) =>
        log.log('warn', 'the run record could not be written', { ...causeOf(error) }),
      );
  }
}

/** `isLogged`: the agent's own logs of the run were kept, which those of a run that looked well are not. */
function missing(
  { job, until }: { readonly job: string; readonly until?: string },
  isLogged: boolean,
): Cause {
  const logs = isLogged
    ? "the agent's own logs (azp-fleet logs HOST/SLOT --diag)"
    : "the run's log (azp-fleet logs HOST/SLOT)";
  return {
    code: 'run.result-missing',
    what: `the server still shows job ${job} as running; it gives it up ${until === undefined ? 'within about 15 minutes' : `at ${until}`}`,
    next: `look at ${logs}: its worker was killed, or the result did not arrive; cancel the job in Azure DevOps and run it again`,
  };
}
