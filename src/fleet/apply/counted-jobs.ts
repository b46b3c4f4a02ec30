import { cancelIsLate, countedJob, givenUpAt } from '../../shared/azure/job-requests.ts';
import type { CountedJob } from '../../shared/azure/pools/agents.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { occupied } from '../../shared/contract/status.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { statusOf } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { type Change, type Refusal, refusal } from '../steps/change.ts';
import type { ApplyTools, CountedJobs } from './apply-tools.ts';

const pollMs = 2000;
/** A job whose agent has ended takes minutes; each look is two calls for each pool. */
const slowPollMs = 15_000;
/** A job that has just ended may be counted for some seconds more. */
const leastWaitMs = 20_000;

const afterThat = 'run it again after that, or now with --wait; with --force these agents stay in the pool';

/** Reads the jobs; unknown if Azure DevOps does not answer. */
export async function readCountedJobs(
  { read }: CountedJobs,
  host: HostSpec,
  facts: GatheredFacts,
): Promise<Answered<readonly CountedJob[]>> {
  try {
    return { kind: 'value', value: await read(host, facts) };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { kind: 'unknown', why: error.problem.what };
  }
}

/**
 * Refuses to remove a host whose agents Azure DevOps would not delete: it counts jobs that no drain ends, because their agents
 * have ended, or it cannot be asked. Pure. `clock`: for the time at which the server gives them up.
 */
export function refuseCountedJobs(
  facts: GatheredFacts,
  jobs: Answered<readonly CountedJob[]>,
  { wait, clock }: Pick<CountedJobs, 'wait'> & { readonly clock: Pick<Clock, 'scaled'> },
): readonly Refusal[] {
  if (jobs.kind === 'unknown')
    return [
      refusal(
        'pool',
        `whether Azure DevOps counts jobs on its agents is unknown: ${jobs.why}`,
        'fix that and run it again; with --force its agents stay in the pool',
      ),
    ];
  const report = statusOf(facts);
  // Which agents have ended is unknown: the plan refuses for that.
  if (report.kind === 'unknown') return [];
  const status = report.value;
  const running = new Set(status === undefined ? [] : occupied(status).map(({ agent }) => agent));
  const lost = jobs.value.filter(({ agent }) => !running.has(agent));
  if (wait || lost.length === 0) return [];
  const late = status === undefined ? '' : `; ${cancelIsLate}`;
  return [refusal('pool', countedText(lost, clock), `${afterThat}${late}`)];
}

/** Waits until Azure DevOps counts no job on the agents that this stage removes, and rejects before anything is changed. */
export async function awaitNoCountedJobs(
  stage: readonly Change[],
  host: HostSpec,
  facts: GatheredFacts,
  tools: Pick<ApplyTools, 'counted' | 'clock' | 'sleep' | 'emit' | 'options'>,
): Promise<void> {
  const { counted, clock } = tools;
  const removes = stage.some(({ actions }) => actions.some(({ kind }) => kind === 'deregister'));
  if (counted === undefined || !removes) return;
  const wait = {
    since: clock.monotonic(),
    limitMs: counted.wait ? tools.options.drainTimeoutMs : leastWaitMs,
  };
  for (let shown = ''; ;) {
    const jobs = await counted.read(host, facts);
    if (jobs.length === 0) {
      if (shown !== '') tools.emit({ kind: 'host-state', host: host.name, state: 'applying' });
      return;
    }
    const what = countedText(jobs, clock);
    if (clock.monotonic() - wait.since >= wait.limitMs) throw stillCounted(host.name, what);
    if (what !== shown) {
      const [{ agent }] = jobs as [CountedJob, ...CountedJob[]];
      const text = `waiting until the server gives up the job of ${agent}`;
      tools.emit({ kind: 'note', host: host.name, text: what });
      tools.emit({ kind: 'host-state', host: host.name, state: 'draining', text, wait });
    }
    shown = what;
    await tools.sleep(counted.wait ? slowPollMs : pollMs);
  }
}

function countedText(jobs: readonly CountedJob[], clock: Pick<Clock, 'scaled'>): string {
  return jobs.map(({ agent, request }) => countedJob(agent, request, givenUpAt(request, clock))).join('; ');
}

function stillCounted(host: string, what: string): FleetError {
  return new FleetError({
    code: 'remove.agent-busy',
    host,
    step: 'pool',
    what: `${what}; nothing was changed, agents take jobs again`,
    next: afterThat,
  });
}
