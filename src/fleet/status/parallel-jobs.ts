import type { ParallelJobs } from '../../shared/azure/client.ts';
import type { StatusRow } from './row.ts';

/** How many agents there are beside how many may work at once. */
export interface JobsView {
  /** Of the hosts that were looked at. */
  readonly agents: number;
  /** Of the organization's private projects. */
  readonly permitted: number;
  /** Running now, wherever; absent: not known. */
  readonly used?: number;
}

/** Undefined where there is no limit, or none is known. Pure. */
export function jobsView(rows: readonly StatusRow[], jobs: ParallelJobs | undefined): JobsView | undefined {
  if (jobs?.permitted === undefined) return undefined;
  const agents = rows.reduce((sum, { local, azure }) => sum + (local?.wanted ?? azure?.registered ?? 0), 0);
  return { agents, permitted: jobs.permitted, ...(jobs.used === undefined ? {} : { used: jobs.used }) };
}
