import type { Problem } from '../../../shared/base/errors.ts';
import type { Verdict } from '../../../shared/health/verdict.ts';
import type { Waiting } from '../../verdict/agents.ts';
import { kindOf } from '../../verdict/causes.ts';
import { judge } from '../../verdict/judge.ts';
import { startMs } from '../../verdict/limits.ts';
import type { Sight } from '../../verdict/sight.ts';
import type { ApplyTools } from '../apply-tools.ts';
import { verdictOn } from './probe.ts';
import { toWaitFor, waitingLine } from './waiting.ts';

const pollMs = 1000;
/** What a start may take, after the end of the agent that was there before. */
const patienceMs = startMs + 20_000;

export interface Look {
  readonly sight: Sight;
  /** Why pools could not be listed. */
  readonly problems: readonly Problem[];
}

/**
 * Looks until nothing may become well by waiting, within two minutes, and tells what is waited for. `patient`: false where
 * the host fails whatever its agents do.
 */
export async function watch(
  look: () => Promise<Look>,
  patient: boolean,
  host: string,
  { clock, sleep, emit }: Pick<ApplyTools, 'clock' | 'sleep' | 'emit'>,
): Promise<Verdict> {
  const wait = { since: clock.monotonic(), limitMs: patienceMs };
  const deadline = wait.since + wait.limitMs;
  const seenWell = new Set<string>();
  for (let said = ''; ;) {
    const { sight, problems } = await look();
    const { verdict, waiting } = judge(sight);
    const left = [...problems.flatMap(poolWaits), ...toWaitFor(waiting, sight, seenWell)];
    if (!patient || left.length === 0) return provenBy(verdict, problems);
    if (clock.monotonic() >= deadline) return provenBy(judge({ ...sight, waited: true }).verdict, problems);
    const text = waitingLine(left);
    if (text !== said) emit({ kind: 'host-state', host, state: 'proving', text, wait });
    said = text;
    await sleep(pollMs);
  }
}

/** A pool that cannot be asked may answer later, but for what a person has to mend. */
function poolWaits({ code, what }: Problem): readonly Waiting[] {
  return kindOf(code) === 'certain' ? [] : [{ who: 'Azure DevOps', why: what, told: true }];
}

/** Without the server's word nothing is proven. */
function provenBy(verdict: Verdict, [problem]: readonly Problem[]): Verdict {
  const isWorse = verdict.state !== 'healthy' && verdict.state !== 'degraded';
  return problem === undefined || isWorse ? verdict : verdictOn(problem);
}
