import { stopTimeoutS } from '../docker/container.ts';
import { defined } from '../../shared/base/objects.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { disable } from '../pool/agents.ts';

/** A message that the server sent before the agent was disabled arrives within this time. */
const settleMs = 5_000;

interface RetireTools extends Pick<ManagerDeps, 'azure' | 'engine' | 'clock' | 'signal'> {
  readonly state: { readonly owner: string };
}

/** `busy`: a job had come in meanwhile, which runs to its end. `enabled`: the server may still give it one. */
export type RetireEnd = 'stopped' | 'busy' | 'enabled' | 'interrupted';

/**
 * Stops an idle agent: disabled first, so that no job can be given to it any more, then looked at again. What was done
 * before the wait proves nothing: only an agent that is seen disabled, or gone, after it is stopped.
 */
export async function retire(
  tools: RetireTools,
  order: {
    readonly poolId: number;
    readonly agent: string;
    /** Under which it was registered. */
    readonly id?: number;
    readonly container: string;
    readonly reason: string;
    /** The container's own output still says that it waits for a job. */
    isIdle(): boolean;
  },
): Promise<RetireEnd> {
  const { id, agent: name, reason } = order;
  await disable(tools, order.poolId, { name, reason, ...defined({ id }) });
  await tools.clock.wait(settleMs, tools.signal);
  if (tools.signal.aborted) return 'interrupted';
  const agent = await tools.azure.findAgent(order.poolId, order.agent);
  if (agent?.assignedRequest !== undefined || !order.isIdle()) return 'busy';
  if (agent?.enabled === true) return 'enabled';
  await tools.engine.stop(order.container, stopTimeoutS);
  return 'stopped';
}
