import { foldNames } from '../inventory/fold-names.ts';

/** A change to Azure DevOps, once for the fleet. */
export interface FleetChange {
  readonly id: string;
  readonly title: string;
  readonly why: string;
  readonly action:
    | { readonly kind: 'create-pool'; readonly pool: string }
    | { readonly kind: 'disable-auto-update'; readonly pool: string }
    | { readonly kind: 'create-queue'; readonly pool: string; readonly project: string }
    | { readonly kind: 'authorize-queue'; readonly pool: string; readonly project: string }
    /** The host's manager makes it, once it runs. */
    | {
        readonly kind: 'take-over';
        readonly pool: string;
        readonly host: string;
        readonly slots: readonly string[];
      }
    /** A shape: the pool's name is not known yet. It cannot run. */
    | { readonly kind: 'name-later'; readonly pattern: string };
}

/** The state that the fleet part of a plan depends on. */
export interface PoolState {
  readonly name: string;
  /** Undefined: no pool of this name exists. */
  readonly pool: { readonly autoUpdate?: boolean } | undefined;
  readonly projects: readonly {
    readonly project: string;
    readonly queueId: number | undefined;
    readonly authorized: boolean;
  }[];
}

/** Plans the missing changes, in the order in which they must be made. Pure. */
export function planPools(state: readonly PoolState[]): readonly FleetChange[] {
  return state.flatMap(({ name, pool, projects }) => [
    ...(pool === undefined ? [createPool(name)] : []),
    ...(pool?.autoUpdate === true ? [disableAutoUpdate(name)] : []),
    ...projects.flatMap(({ project, queueId, authorized }) => [
      ...(queueId === undefined ? [createQueue(name, project)] : []),
      ...(authorized ? [] : [authorizeQueue(name, project)]),
    ]),
  ]);
}

/** Announces pools whose names depend on a driver. `hosts`: the hosts without it, by pattern. Pure. */
export function planLaterPools(hosts: ReadonlyMap<string, readonly string[]>): readonly FleetChange[] {
  return [...hosts].map(([pattern, names]) => ({
    id: `pool.later.${pattern}`,
    title: `create agent pool ${pattern} if there is none, and permit its use`,
    why: `its name depends on the driver of ${foldNames(names)}, which is not installed yet`,
    action: { kind: 'name-later', pattern },
  }));
}

function createPool(pool: string): FleetChange {
  return {
    id: `pool.create.${pool}`,
    title: `create agent pool ${pool}`,
    why: 'no pool of this name exists',
    action: { kind: 'create-pool', pool },
  };
}

function disableAutoUpdate(pool: string): FleetChange {
  return {
    id: `pool.auto-update.${pool}`,
    title: `turn off automatic agent updates in pool ${pool}`,
    why: 'an agent for one job would update itself instead of running the job',
    action: { kind: 'disable-auto-update', pool },
  };
}

function createQueue(pool: string, project: string): FleetChange {
  return {
    id: `pool.queue.${pool}.${project}`,
    title: `make pool ${pool} known in project ${project}`,
    why: 'the project has no queue of this pool',
    action: { kind: 'create-queue', pool, project },
  };
}

function authorizeQueue(pool: string, project: string): FleetChange {
  return {
    id: `pool.authorize.${pool}.${project}`,
    title: `permit all pipelines of project ${project} to use pool ${pool}`,
    why: 'otherwise each pipeline stops at its first run and waits for a permission',
    action: { kind: 'authorize-queue', pool, project },
  };
}
