import { stopTimeoutS } from '../docker/container.ts';
import type { Outside } from '../outside.ts';
import { disable } from '../pool/agents.ts';

/** A message that the server sent before the agent was disabled arrives within this time. */
const settleMs = 5_000;

interface RetireTools extends Pick<Outside, 'azure' | 'engine' | 'clock' | 'signal'> {
  readonly state: { readonly owner: string };
}

/**
 * Stops an idle agent: disabled first, so that no job can be given to it any more, then looked at again. True when it
 * was stopped; false when a job had come in meanwhile, which then runs to its end.
 */
export async function retire(
  tools: RetireTools,
  order: {
    readonly poolId: number;
    readonly agent: string;
    readonly container: string;
    readonly reason: string;
    /** The container's own output still says that it waits for a job. */
    isIdle(): boolean;
  },
): Promise<boolean> {
  await disable(tools, order.poolId, order.agent, order.reason);
  await tools.clock.wait(settleMs, tools.signal);
  if (tools.signal.aborted) return false;
  const agent = await tools.azure.findAgent(order.poolId, order.agent);
  if (agent?.assignedRequest !== undefined || !order.isIdle()) return false;
  await tools.engine.stop(order.container, stopTimeoutS);
  return true;
}
