import type { AzureClient, Pool } from '../../shared/azure/client.ts';
import { readPoolState, requireProject } from '../../shared/azure/pools/overview.ts';
import type { TokenPermissions } from '../../shared/azure/token-permissions.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import { mayBecome } from '../inventory/pool-pattern.ts';
import { planPools, type FleetChange } from '../plan/pools.ts';
import { knownPools } from '../steps/pool-names.ts';
import type { ApplyTools } from './apply-tools.ts';
import type { EventSink } from './events.ts';
import type { HostsSurvey, Reached } from './survey.ts';

/** The fleet part of a plan, pool by pool: one pool that cannot be read or changed does not stop the others. */
export interface PoolsPlan {
  readonly changes: readonly FleetChange[];
  /** Pool → why its hosts cannot get a manager now. */
  readonly blocked: ReadonlyMap<string, Problem>;
}

export async function planFleetPools(
  client: AzureClient,
  pools: readonly string[],
  projects: readonly string[],
): Promise<PoolsPlan> {
  const blocked = new Map<string, Problem>();
  const changes = await Promise.all(
    [...new Set(pools)].map(async (pool) => {
      try {
        return planPools(await readPoolState(client, [pool], projects));
      } catch (error) {
        blocked.set(pool, problemOf(error));
        return [];
      }
    }),
  );
  return { changes: changes.flat(), blocked };
}

/** Makes the changes in order. After a failed change of a pool, its other changes are skipped. */
export async function applyFleetPools(
  client: AzureClient,
  plan: PoolsPlan,
  emit: EventSink,
): Promise<PoolsPlan> {
  const blocked = new Map(plan.blocked);
  for (const change of plan.changes) {
    const { action, title } = change;
    if (action.kind === 'name-later' || action.kind === 'take-over') continue;
    if (blocked.has(action.pool)) continue;
    try {
      await applyFleetChange(client, change);
      emit({ kind: 'note', text: `Azure DevOps: ${title}: done` });
    } catch (error) {
      blocked.set(action.pool, problemOf(error));
    }
  }
  return { changes: plan.changes, blocked };
}

/** Returns the distinct problems: a rejected token is one problem, however many pools it concerns. */
export function distinct(blocked: ReadonlyMap<string, Problem>): Problem[] {
  return [
    ...new Map([...blocked.values()].map((problem) => [`${problem.code} ${problem.what}`, problem])).values(),
  ];
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof FleetError)) throw error;
  return error.at({ step: 'pool' }).problem;
}

/** Makes one change. Does nothing if it is done already, only announced, or made by a manager. */
export async function applyFleetChange(client: AzureClient, { action }: FleetChange): Promise<void> {
  if (action.kind === 'name-later' || action.kind === 'take-over') return;
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

/**
 * Returns a function that creates pools whose names were unknown when the plan was made: each once for all hosts, like a pool that
 * was announced by name, and only if its pattern was announced.
 */
export function latePools(
  client: AzureClient,
  { hosts, pools }: Pick<HostsSurvey, 'hosts'> & { readonly pools: PoolsPlan },
  projects: readonly string[],
  emit: EventSink,
): NonNullable<ApplyTools['poolsReady']> {
  const before = new Set(hosts.flatMap(({ host, facts }) => knownPools(host, facts)));
  const patterns = pools.changes.flatMap(({ action }) =>
    action.kind === 'name-later' ? [action.pattern] : [],
  );
  const made = new Map<string, Promise<Problem | undefined>>();
  const make = async (name: string): Promise<Problem | undefined> => {
    const plan = await planFleetPools(client, [name], projects);
    const problem = (await applyFleetPools(client, plan, emit)).blocked.get(name);
    if (problem !== undefined) emit({ kind: 'problem', problem });
    return problem;
  };
  return async (host, facts) => {
    for (const name of knownPools(host, facts).filter((each) => !before.has(each))) {
      if (!patterns.some((pattern) => mayBecome(pattern, name))) throw notAnnounced(host.name, name);
      const making = made.get(name) ?? make(name);
      made.set(name, making);
      const problem = await making;
      if (problem !== undefined) throw new FleetError({ ...problem, host: host.name });
    }
  };
}

function notAnnounced(host: string, pool: string): FleetError {
  return new FleetError({
    code: 'plan.not-announced',
    host,
    step: 'manager',
    what: `stopped before the manager starts: its agents would register in pool ${pool}, which was not announced`,
    next: 'run it again without a saved plan, and confirm the new plan',
  });
}

/**
 * Returns pool → why agents could not be registered there with the token, by its scope and the role of its user. Changes nothing. A
 * pool that does not exist belongs to the user who creates it.
 */
export async function findTokenGaps(
  client: Pick<AzureClient, 'listPools'>,
  permissions: Pick<TokenPermissions, 'managedPools' | 'mayWritePools'>,
  hosts: readonly Pick<Reached, 'host' | 'facts'>[],
  holder: TokenHolder = 'none',
): Promise<ReadonlyMap<string, Problem>> {
  const pools = new Set(hosts.flatMap(({ host, facts }) => [...poolsOf(host), ...knownPools(host, facts)]));
  const ofAll = (problem: Problem) => new Map([...pools].map((pool) => [pool, problem]));
  try {
    // Rejects with the reason if the token is not valid at all: a write is refused like one beyond the scope.
    const managed = await permissions.managedPools();
    if ((await permissions.mayWritePools()) === false) return ofAll(readOnly(holder));
    const existing = await client.listPools();
    const isIn = (names: readonly string[], pool: string): boolean =>
      names.some((name) => name.toLowerCase() === pool.toLowerCase());
    const names = existing.map(({ name }) => name);
    const foreign = [...pools].filter((pool) => isIn(names, pool) && !isIn(managed, pool));
    return new Map(foreign.map((pool) => [pool, notAdministered(pool, holder)]));
  } catch (error) {
    return ofAll(problemOf(error));
  }
}

/** Whether the hosts have the token already; `none`: some would get it now. */
type TokenHolder = 'hosts' | 'none';

const ends: Readonly<Record<TokenHolder, { readonly effect: string; readonly again: string }>> = {
  none: { effect: 'so no host gets it', again: 'run again' },
  hosts: { effect: 'and the hosts have it', again: 'run azp-fleet token rotate' },
};

function readOnly(holder: TokenHolder): Problem {
  const { effect, again } = ends[holder];
  return {
    code: 'azure.permission',
    step: 'pool',
    what: `the token may not register agents, ${effect}`,
    expected: 'the scope "Agent Pools (Read & manage)"',
    next: `give the token the scope "Agent Pools (Read & manage)", or put one that has it where "token:" of the inventory points, then ${again}`,
  };
}

function notAdministered(pool: string, holder: TokenHolder): Problem {
  return {
    code: 'azure.permission',
    step: 'pool',
    what: `the user of the token does not administer pool ${pool}, ${ends[holder].effect}`,
    expected: 'the role Administrator of the pool',
    next: `make the user Administrator of the pool (Organization settings > Agent pools > ${pool} > Security), then run again`,
  };
}
