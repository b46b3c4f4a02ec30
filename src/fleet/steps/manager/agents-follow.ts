import { agentName, slotSpecs, type SlotSpec } from '../../../shared/contract/slots.ts';
import type { ManagerConfig } from '../../../shared/contract/config.ts';
import type { ManagerStatus } from '../../../shared/contract/status.ts';
import type { Detail } from '../change.ts';
import { item, itemDetail, listed } from '../told/items.ts';

/** One agent in Azure DevOps. */
export interface PoolAgent {
  readonly slot: string;
  readonly agent: string;
  readonly pool: string;
}

/** What of a configuration says which agents there are. */
export type Division = Pick<
  ManagerConfig,
  'host' | 'agentName' | 'pool' | 'agents' | 'share' | 'driverCapabilities'
> & { readonly gpus?: number };

/** The agents of a host with so many GPUs. */
export function agentsOf(config: Division, present: number): readonly PoolAgent[] {
  return slotSpecs(config, present).map((spec, index) => {
    const slot = spec.name ?? String(index);
    const agent = agentName({ name: config.host, agentName: config.agentName }, slot);
    return { slot, agent, pool: spec.pool ?? config.pool };
  });
}

/** The agents that a manager tells of, where its configuration cannot be read. */
export function agentsNow({ slots, pool }: ManagerStatus): readonly PoolAgent[] {
  return slots.map((each) => ({ slot: each.slot, agent: each.agent, pool: each.pool ?? pool.name }));
}

/** By name: the agents that come, those that change pools, and those that are deleted. Pure. */
export function agentDetails(from: readonly PoolAgent[], to: readonly PoolAgent[]): readonly Detail[] {
  const [before, after] = [pools(from), pools(to)];
  const come = to.filter(({ agent }) => !before.has(agent));
  const go = from.filter(({ agent }) => !after.has(agent));
  const move = to.filter(({ agent, pool }) => before.has(agent) && before.get(agent) !== pool);
  return [
    ...byPool(come).map(([pool, names]) => ({
      marker: 'add' as const,
      text: `registers ${names} in pool ${pool}`,
    })),
    ...byPool(move, ({ agent, pool }) => `${before.get(agent)} to pool ${pool}`).map(([way, names]) => ({
      marker: 'change' as const,
      text: `moves ${names} from pool ${way}`,
      effect: 'a running job ends first',
    })),
    ...byPool(go).map(([pool, names]) => ({
      marker: 'remove' as const,
      text: `removes ${names} from pool ${pool}`,
      effect: 'once no job runs there',
    })),
  ];
}

/** Which GPUs each agent of a host that is divided by number gets. */
export function gpuDetails(from: Division, to: Division, present: number): readonly Detail[] {
  if (from.agents.kind === 'slots' || to.agents.kind === 'slots') return [];
  const [old, now] = [split(slotSpecs(from, present)), split(slotSpecs(to, present))];
  return item('GPUs of each agent', old, now).map(itemDetail);
}

function split(specs: readonly SlotSpec[]): string {
  return listed(specs.map(({ gpus }) => (gpus.length === 0 ? 'none' : range(gpus.map(Number)))));
}

/** `0-3`; those of a slot that is divided by number are consecutive. */
function range(gpus: readonly number[]): string {
  const [first, last] = [gpus[0], gpus.at(-1)];
  return first === last ? String(first) : `${first}-${last}`;
}

function pools(agents: readonly PoolAgent[]): ReadonlyMap<string, string> {
  return new Map(agents.map(({ agent, pool }) => [agent, pool]));
}

function byPool(
  agents: readonly PoolAgent[],
  key: (each: PoolAgent) => string = ({ pool }) => pool,
): [pool: string, names: string][] {
  const grouped = Map.groupBy(agents, key);
  return [...grouped].map(([pool, each]) => [pool, listed(each.map(({ agent }) => agent))]);
}
