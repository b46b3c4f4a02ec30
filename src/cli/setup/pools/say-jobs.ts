import type { ParallelJobs } from '../../../shared/azure/client.ts';
import { defined } from '../../../shared/base/objects.ts';
import { jobsTrouble } from '../../render/parallel-jobs.ts';
import { troubleLines } from '../../render/trouble.ts';
import type { AgentsChoice } from './ask-agents.ts';
import type { HostChoice } from '../choices.ts';
import { widthOf, type Wizard } from '../wizard-context.ts';

/** How many agents the answers make, hosts whose GPUs were not counted left out. */
export function agentCount(hosts: readonly HostChoice[], { agents }: AgentsChoice): number {
  if (agents !== 'one-per-gpu') return agents * hosts.length;
  return hosts.reduce((sum, { gpus = 0 }) => sum + gpus, 0);
}

/** What the organization's licence makes of that many; nothing where it is not known. */
export function sayJobs(
  wizard: Pick<Wizard, 'context' | 'say'>,
  organization: string,
  agents: number,
  jobs: ParallelJobs | undefined,
): void {
  if (jobs?.permitted === undefined) return;
  const { permitted, used } = jobs;
  const trouble = jobsTrouble({ agents, permitted, ...defined({ used }) }, organization);
  wizard.say(...troubleLines(trouble, { width: widthOf(wizard) + 1, paint: (_, text) => text }));
}
