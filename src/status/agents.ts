import type { AzureAgent } from '../azure/client.ts';
import { imageOverall, type ManagerStatus, type SlotStatus } from '../contract/status.ts';
import type { Finding } from '../health/verdict.ts';

/** Between two jobs an agent is away for about ten seconds; nothing is said before a minute. */
const settleMs = 60_000;
/** A start that takes longer is worth a word. */
const startMs = 180_000;

/** What is wrong with a host's agents, equal causes told once. No list of a pool: it could not be asked for. Pure. */
export function agentFindings(
  status: ManagerStatus,
  agentsIn: (pool: string) => ReadonlyMap<string, AzureAgent> | undefined,
  now: number,
): readonly Finding[] {
  const troubles = status.slots.flatMap((slot) => {
    const trouble = slotTrouble(slot, now - Date.parse(slot.since), agentsIn, status);
    return trouble === undefined ? [] : [{ agent: slot.agent, ...trouble }];
  });
  const all = troubles.length === status.slots.length;
  return [...Map.groupBy(troubles, ({ code, what }) => `${code} ${what}`).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const names = group.map(({ agent }) => agent).join(', ');
    const severity = all && first.code !== 'agents.disabled' ? 'fail' : 'warn';
    return [
      { code: first.code, severity, what: `${names}: ${first.what}`, next: first.next },
    ] satisfies Finding[];
  });
}

type Trouble = Pick<Finding, 'code' | 'what' | 'next'>;

function slotTrouble(
  slot: SlotStatus,
  age: number,
  agentsIn: (pool: string) => ReadonlyMap<string, AzureAgent> | undefined,
  status: ManagerStatus,
): Trouble | undefined {
  const { state, cause, next = 'see `journalctl -u azp-fleet-manager` on the host' } = slot;
  if (state === 'drained' || state === 'stopping') return undefined;
  const { pool = status.pool.name } = slot;
  if (state === 'idle' || state === 'busy') return poolTrouble(agentsIn(pool), slot.agent, pool, age);
  if (state === 'starting') {
    if (age <= (cause === undefined ? startMs : settleMs)) return undefined;
    return { code: 'agents.starting', what: cause ?? 'still starting after several minutes', next };
  }
  // What keeps the whole host from working is told once, by itself.
  const told = state === 'waiting' && (status.problems.length > 0 || imageOverall(status).state !== 'ready');
  return told ? undefined : { code: `agents.${state}`, what: cause ?? state, next };
}

function poolTrouble(
  pool: ReadonlyMap<string, AzureAgent> | undefined,
  name: string,
  poolName: string,
  age: number,
): Trouble | undefined {
  if (pool === undefined || age <= settleMs) return undefined;
  const agent = pool.get(name);
  if (agent?.status !== 'online') {
    const seen = agent === undefined ? 'not registered' : 'offline';
    const next = 'see the container’s log (`docker logs`) and the way from the host to Azure DevOps';
    return { code: 'agents.offline', what: `runs here, but is ${seen} in pool ${poolName}`, next };
  }
  if (agent.enabled) return undefined;
  return {
    code: 'agents.disabled',
    what: `disabled in pool ${poolName}, so it gets no jobs`,
    next: 'enable it in the pool’s agent list when it should work again',
  };
}
