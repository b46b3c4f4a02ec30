import type { JobsView } from '../../fleet/status/row.ts';
import { count } from './inventory.ts';
import type { Trouble } from './trouble.ts';

/** `8 agents, 1 permitted parallel job`, what follows, and where that is changed. */
export function jobsTrouble({ agents, permitted, used }: JobsView, organization: string): Trouble {
  const inUse = used === undefined ? '' : `, ${used} in use`;
  const what = `${count(agents, 'agent')}, ${count(permitted, 'permitted parallel job')} of private projects${inUse}`;
  const places = ['Azure DevOps'];
  if (agents <= permitted) return { places, severity: 'info', what, next: '' };
  const works = permitted === 0 ? 'none of them gets a job' : `only ${permitted} of them can work at a time`;
  return {
    places,
    severity: 'warn',
    what: `${what}: ${works}, other jobs wait`,
    next: `buy self-hosted parallel jobs, or see what uses them: Organization settings > Parallel jobs (${organization}/_settings/buildqueue)`,
  };
}
