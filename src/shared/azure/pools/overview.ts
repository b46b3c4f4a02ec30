import type { AzureAgent, AzureClient, JobRequest } from '../client.ts';
import { readPoolState } from './state.ts';

/** A pool as `azp-fleet pool list` shows it. */
export interface PoolOverview {
  readonly name: string;
  /** Undefined: it does not exist yet. */
  readonly id?: number;
  readonly autoUpdate?: boolean;
  readonly agents: {
    readonly online: number;
    readonly offline: number;
    readonly busy: number;
    readonly disabled: number;
  };
  readonly jobs: { readonly waiting: number; readonly running: number; readonly oldestWaitS?: number };
  /** Projects of the inventory: whether their pipelines may use the pool. */
  readonly projects: readonly { readonly project: string; readonly authorized: boolean }[];
}

/** Reads only. `now` is our wall clock: the server dates its queue by its own. */
export async function poolOverviews(
  client: AzureClient,
  names: readonly string[],
  projects: readonly string[],
  now: number,
): Promise<readonly PoolOverview[]> {
  const states = await readPoolState(client, names, projects);
  return await Promise.all(
    states.map(async ({ name, pool, projects: permissions }) => {
      const [agents, requests] =
        pool === undefined
          ? [[], []]
          : await Promise.all([
              client.listAgents(pool.id, { capabilities: false }),
              client.unfinishedRequests(pool.id),
            ]);
      return {
        name,
        ...(pool === undefined ? {} : { id: pool.id }),
        ...(pool?.autoUpdate === undefined ? {} : { autoUpdate: pool.autoUpdate }),
        agents: countAgents(agents),
        jobs: countJobs(requests, now),
        projects: permissions.map(({ project, authorized }) => ({ project, authorized })),
      };
    }),
  );
}

function countAgents(agents: readonly AzureAgent[]): PoolOverview['agents'] {
  const online = agents.filter(({ status }) => status === 'online').length;
  return {
    online,
    offline: agents.length - online,
    busy: agents.filter(({ assignedRequest }) => assignedRequest !== undefined).length,
    disabled: agents.filter(({ enabled }) => !enabled).length,
  };
}

/** Waiting is what no agent has received yet. */
function countJobs(requests: readonly JobRequest[], now: number): PoolOverview['jobs'] {
  const waiting = requests.filter(({ receiveTime }) => receiveTime === undefined);
  const since = waiting
    .map(({ queueTime = '' }) => Date.parse(queueTime))
    .filter((time) => !Number.isNaN(time));
  return {
    waiting: waiting.length,
    running: requests.length - waiting.length,
    ...(since.length === 0
      ? {}
      : { oldestWaitS: Math.max(0, Math.round((now - Math.min(...since)) / 1000)) }),
  };
}
