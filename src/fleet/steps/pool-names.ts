import { valueOf } from '../../shared/base/reading.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { cudaOfDriver } from '../../shared/image/choose.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { fillPool, placeholdersIn, type PlaceholderValues } from '../inventory/pool-pattern.ts';
import { agentArch } from './manager/config.ts';
import { type FactsWith, reading } from '../facts/unread.ts';
import { generationOf } from './driver/generations.ts';
import { isDesiredDriver } from './driver/compatibility.ts';
import { newerBranch } from './newer.ts';

/** The name of a host's pool, as far as facts determine it. */
export type PoolName =
  | { readonly kind: 'known'; readonly name: string }
  /** The name depends on a driver that will be installed or changed. */
  | { readonly kind: 'later'; readonly pattern: string }
  /** The host lacks what the pool is named after. */
  | { readonly kind: 'never'; readonly pattern: string; readonly what: string; readonly next: string };

/** Returns the distinct pools of a host's agents. Pure. */
export function poolNames(host: HostSpec, facts: GatheredFacts): readonly PoolName[] {
  const values = valuesOf(host, facts);
  const names = poolsOf(host).map((pool) => nameOf(fillPool(pool, values), host, facts));
  return [...new Map(names.map((each) => [JSON.stringify(each), each])).values()];
}

/** Returns known names of pools; Azure DevOps ignores their case. */
export function knownPools(host: HostSpec, facts: GatheredFacts): string[] {
  return poolNames(host, facts).flatMap((pool) => (pool.kind === 'known' ? [pool.name] : []));
}

/** Returns patterns of pools whose names depend on a driver that will be installed. */
export function laterPools(host: HostSpec, facts: GatheredFacts): string[] {
  return poolNames(host, facts).flatMap((pool) => (pool.kind === 'later' ? [pool.pattern] : []));
}

/** Returns the host with known names instead of pool patterns. Pure. */
export function withPoolNames(host: HostSpec, facts: GatheredFacts): HostSpec {
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

function nameOf(pool: string, host: HostSpec, facts: GatheredFacts): PoolName {
  const [open] = placeholdersIn(pool);
  if (open === undefined) return { kind: 'known', name: pool };
  const never = (what: string): PoolName => ({
    kind: 'never',
    pattern: pool,
    what: `pool ${pool} has no name on this host: ${what}`,
    next: `give ${host.name} a pool without {${open}} in the inventory`,
  });
  const read = reading(facts, 'gpus', 'driver');
  if (read.kind === 'unknown') return never(read.why);
  if (open === 'arch') return never(`no agent exists for ${facts.arch}`);
  if (read.value.gpus.length === 0) return never('the host has no GPU');
  const lasting = lastingDriver(host, read.value);
  return lasting === undefined
    ? { kind: 'later', pattern: pool }
    : never(`unknown CUDA version of driver ${lasting}`);
}

function valuesOf(host: HostSpec, facts: GatheredFacts): PlaceholderValues {
  const arch = agentArch(facts.arch);
  const read = valueOf(reading(facts, 'gpus', 'driver'));
  const driver = read === undefined || read.gpus.length === 0 ? undefined : lastingDriver(host, read);
  // By the table, not by the manager's report, so that the name does not change once the manager has observed the GPUs.
  const cuda = driver === undefined ? undefined : cudaOfDriver(driver);
  const { gpus = [] } = valueOf(reading(facts, 'gpus')) ?? {};
  const generations = [...new Set(gpus.map(({ deviceId }) => generationOf(deviceId).name))];
  return {
    ...(arch === undefined ? {} : { arch }),
    ...(cuda === undefined ? {} : { cuda, cudaMajor: cuda.split('.')[0] ?? cuda }),
    ...(generations.length === 0 ? {} : { generation: generations.sort().join('-').toLowerCase() }),
  };
}

/** Returns the running driver; undefined: none, or another branch will be installed. CUDA is the same within a branch. */
function lastingDriver(host: HostSpec, facts: FactsWith<'gpus' | 'driver'>): string | undefined {
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
