import { FleetError } from '../../base/errors.ts';
import type { AzureClient, Pool, Project } from '../client.ts';

/** What the fleet part of a plan rests on. */
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
  // Pools first: when the whole organization is wrong, that is the error, not the first project.
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

/** The project; throws when it does not exist. */
export async function requireProject(client: AzureClient, name: string): Promise<Project> {
  const project = await client.findProject(name);
  if (project !== undefined) return project;
  throw new FleetError({
    code: 'azure.project-missing',
    step: 'pool',
    what: `project ${name} does not exist in the organization, or the credential may not see it`,
    next: 'check "projects:" in the inventory, and the access of the token\'s user to the project',
  });
}
