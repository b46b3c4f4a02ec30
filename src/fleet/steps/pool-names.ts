import { poolsOf } from '../../shared/contract/slots.ts';
import type { Facts } from '../facts/facts.ts';
import { cudaOfDriver } from '../../shared/image/choose.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { fillPool, placeholdersIn, type PlaceholderValues } from '../inventory/pool-pattern.ts';
import { agentArch } from './manager/config.ts';
import { generationOf } from './driver/generations.ts';
import { isDesiredDriver } from './driver/compatibility.ts';
import { newerBranch } from './newer.ts';

/** What a pool of a host is called, as far as its facts tell. */
export type PoolName =
  | { readonly kind: 'known'; readonly name: string }
  /** The driver decides, which is not there yet or is about to become another. */
  | { readonly kind: 'later'; readonly pattern: string }
  /** What the pool is named after, this host does not have. */
  | { readonly kind: 'never'; readonly pattern: string; readonly what: string; readonly next: string };

/** The pools of a host's agents, each once. Pure. */
export function poolNames(host: HostSpec, facts: Facts): readonly PoolName[] {
  const values = valuesOf(host, facts);
  const names = poolsOf(host).map((pool) => nameOf(fillPool(pool, values), host, facts));
  return [...new Map(names.map((each) => [JSON.stringify(each), each])).values()];
}

/** Names of pools that are known; the same in another case is the same pool. */
export function knownPools(host: HostSpec, facts: Facts): string[] {
  return poolNames(host, facts).flatMap((pool) => (pool.kind === 'known' ? [pool.name] : []));
}

/** Patterns of pools whose names a driver decides that is to come. */
export function laterPools(host: HostSpec, facts: Facts): string[] {
  return poolNames(host, facts).flatMap((pool) => (pool.kind === 'later' ? [pool.pattern] : []));
}

/** The host with its pools' names as far as they are known. Pure. */
export function withPoolNames(host: HostSpec, facts: Facts): HostSpec {
  const values = valuesOf(host, facts);
  const { agents } = host;
  const slots =
    agents.kind === 'slots'
      ? agents.slots.map((slot) =>
          slot.pool === undefined ? slot : { ...slot, pool: fillPool(slot.pool, values) },
        )
      : [];
  return {
    ...host,
    pool: fillPool(host.pool, values),
    agents: agents.kind === 'slots' ? { ...agents, slots } : agents,
  };
}

function nameOf(pool: string, host: HostSpec, facts: Facts): PoolName {
  const [open] = placeholdersIn(pool);
  if (open === undefined) return { kind: 'known', name: pool };
  const never = (what: string): PoolName => ({
    kind: 'never',
    pattern: pool,
    what: `its pool is named ${pool}, but ${what}`,
    next: `give ${host.name} a pool without {${open}} in the inventory`,
  });
  if (open === 'arch') return never(`there is no agent for ${facts.arch}`);
  if (facts.gpus.length === 0) return never('it has no GPU');
  const lasting = lastingDriver(host, facts);
  return lasting === undefined
    ? { kind: 'later', pattern: pool }
    : never(`no CUDA is known for its driver ${lasting}`);
}

function valuesOf(host: HostSpec, facts: Facts): PlaceholderValues {
  const arch = agentArch(facts.arch);
  const driver = facts.gpus.length === 0 ? undefined : lastingDriver(host, facts);
  // By the table, not by what the manager reports: the name is the same before the manager has looked, and after.
  const cuda = driver === undefined ? undefined : cudaOfDriver(driver);
  const generations = [...new Set(facts.gpus.map(({ deviceId }) => generationOf(deviceId).name))];
  return {
    ...(arch === undefined ? {} : { arch }),
    ...(cuda === undefined ? {} : { cuda, cudaMajor: cuda.split('.')[0] ?? cuda }),
    ...(generations.length === 0 ? {} : { generation: generations.sort().join('-').toLowerCase() }),
  };
}

/** The running driver; undefined while there is none, or another branch is to come: CUDA is the same within one. */
function lastingDriver(host: HostSpec, facts: Facts): string | undefined {
  const { loaded } = facts.driver;
  if (loaded === undefined) return undefined;
  const driver = newerBranch(facts, host.driver);
  const { version, branch } = driver;
  const lasts = isDesiredDriver(facts, { driver }) || branchOf(version ?? branch) === branchOf(loaded);
  return lasts ? loaded : undefined;
}

function branchOf(version: string): string {
  return version.split('.')[0] ?? version;
}
