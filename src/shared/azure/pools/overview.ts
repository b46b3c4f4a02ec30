import { FleetError } from '../../base/errors.ts';
import type { AzureAgent, AzureClient, JobRequest, Pool, Project } from '../client.ts';

/** The unfinished jobs of a pool. */
export interface QueuedJobs {
  readonly waiting: number;
  readonly running: number;
  readonly oldestWaitS?: number;
}

/** One pool in `azp-fleet pool list`. */
export interface PoolOverview {
  readonly name: string;
  /** Undefined when the pool does not exist yet. */
  readonly id?: number;
  readonly autoUpdate?: boolean;
  readonly agents: {
    readonly online: number;
    readonly offline: number;
    readonly busy: number;
    readonly disabled: number;
  };
  readonly jobs: QueuedJobs;
  /** Whether pipelines of each project of the inventory may use the pool. */
  readonly projects: readonly { readonly project: string; readonly authorized: boolean }[];
}

/** Reads the overview of each pool. `now` is the local wall clock, milliseconds; the queue's times are the server's. */
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

/** Counts jobs; a job waits until an agent has received it. */
export function countJobs(requests: readonly JobRequest[], now: number): QueuedJobs {
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

/** A pool with its queues and permissions: the input of the fleet part of a plan. */
export interface PoolState {
  readonly name: string;
  readonly pool: Pool | undefined;
  readonly projects: readonly {
    readonly project: string;
    readonly queueId: number | undefined;
    readonly authorized: boolean;
  }[];
}

/** Reads pools, their project queues and permissions. Throws when a project does not exist. Changes nothing. */
export async function readPoolState(
  client: AzureClient,
  pools: readonly string[],
  projects: readonly string[],
): Promise<readonly PoolState[]> {
  const names = [...new Set(pools)];
  // Pools first, so that a wrong organization is reported as such and not as a missing project.
  const found = await Promise.all(names.map(async (name) => ({ name, pool: await client.findPool(name) })));
  const known = await Promise.all(projects.map((project) => requireProject(client, project)));
  return await Promise.all(
    found.map(async ({ name, pool }) => ({
      name,
      pool,
      projects: await Promise.all(known.map((project) => readQueue(client, project, pool))),
    })),
  );
}

async function readQueue(client: AzureClient, { name, queues }: Project, pool: Pool | undefined) {
  const queue = queues.find(({ poolId }) => poolId === pool?.id);
  const authorized = queue !== undefined && (await client.isQueueAuthorized(name, queue.id));
  return { project: name, queueId: queue?.id, authorized };
}

/** Returns the project; throws when it does not exist. */
export async function requireProject(client: AzureClient, name: string): Promise<Project> {
  const project = await client.findProject(name);
  if (project !== undefined) return project;
  throw new FleetError({
    code: 'azure.project-missing',
    step: 'pool',
    what: `project ${name} does not exist in the organization, or the token lacks permission`,
    next: 'check "projects:" in the inventory, and the access of the token\'s user to the project',
  });
}
