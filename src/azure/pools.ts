import { FleetError } from '../base/errors.ts';
import type { AzureClient, Pool, Project } from './client.ts';

/** A change to Azure DevOps, once for the fleet. */
export interface PoolChange {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  readonly action:
    | { readonly kind: 'create-pool'; readonly pool: string }
    | { readonly kind: 'disable-auto-update'; readonly pool: string }
    | { readonly kind: 'create-queue'; readonly pool: string; readonly project: string }
    | { readonly kind: 'authorize-queue'; readonly pool: string; readonly project: string };
}

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

async function requirePool(client: AzureClient, name: string): Promise<Pool> {
  const pool = await client.findPool(name);
  if (pool !== undefined) return pool;
  throw new FleetError({
    code: 'azure.pool-missing',
    step: 'pool',
    what: `agent pool ${name} does not exist`,
    next: `run "azp-fleet pool create ${name}", or provision again`,
  });
}

async function requireProject(client: AzureClient, name: string): Promise<Project> {
  const project = await client.findProject(name);
  if (project !== undefined) return project;
  throw new FleetError({
    code: 'azure.project-missing',
    step: 'pool',
    what: `project ${name} does not exist in the organization, or the credential may not see it`,
    next: 'check "projects:" in the inventory, and the access of the token\'s user to the project',
  });
}

/** What is missing, in the order in which it must be done. Pure. */
export function planPools(state: readonly PoolState[]): readonly PoolChange[] {
  return state.flatMap(({ name, pool, projects }) => [
    ...(pool === undefined ? [createPool(name)] : []),
    ...(pool?.autoUpdate === true ? [disableAutoUpdate(name)] : []),
    ...projects.flatMap(({ project, queueId, authorized }) => [
      ...(queueId === undefined ? [createQueue(name, project)] : []),
      ...(authorized ? [] : [authorizeQueue(name, project)]),
    ]),
  ]);
}

function createPool(pool: string): PoolChange {
  return {
    id: `pool.create.${pool}`,
    title: `create agent pool ${pool}`,
    why: 'no pool of this name exists',
    action: { kind: 'create-pool', pool },
  };
}

function disableAutoUpdate(pool: string): PoolChange {
  return {
    id: `pool.auto-update.${pool}`,
    title: `turn off automatic agent updates in pool ${pool}`,
    why: 'an agent that lives for one job would update itself instead of running it',
    action: { kind: 'disable-auto-update', pool },
  };
}

function createQueue(pool: string, project: string): PoolChange {
  return {
    id: `pool.queue.${pool}.${project}`,
    title: `make pool ${pool} known in project ${project}`,
    why: 'the project has no queue of this pool',
    action: { kind: 'create-queue', pool, project },
  };
}

function authorizeQueue(pool: string, project: string): PoolChange {
  return {
    id: `pool.authorize.${pool}.${project}`,
    title: `permit all pipelines of project ${project} to use pool ${pool}`,
    why: 'otherwise each pipeline stops at its first run and waits for a permission',
    action: { kind: 'authorize-queue', pool, project },
  };
}

/** Carries out one change. Done already: does nothing. */
export async function applyFleetChange(client: AzureClient, { action }: PoolChange): Promise<void> {
  if (action.kind === 'create-pool') {
    await client.ensurePool(action.pool);
    return;
  }
  const pool = await requirePool(client, action.pool);
  if (action.kind === 'disable-auto-update') {
    await client.setPoolAutoUpdate(pool.id, false);
    return;
  }
  const project = await requireProject(client, action.project);
  const queue =
    project.queues.find(({ poolId }) => poolId === pool.id) ??
    (await client.createQueue(action.project, pool));
  if (action.kind === 'authorize-queue') await client.authorizeQueue(action.project, queue.id);
}
