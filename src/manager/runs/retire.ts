import { stopTimeoutS } from '../docker/container.ts';
import { defined } from '../../shared/base/objects.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { disable } from '../pool/agents.ts';

/** A job that the server sent before the agent was disabled arrives within this time. */
const settleMs = 5_000;

interface RetireTools extends Pick<ManagerDeps, 'azure' | 'engine' | 'clock' | 'signal'> {
  readonly state: { readonly owner: string };
}

/** `busy`: a job has arrived, which runs to its end. `enabled`: the server may still give it one. */
export type RetireEnd = 'stopped' | 'busy' | 'enabled' | 'interrupted';

/**
 * Stops an idle agent: disables it, so that the server gives it no further job, waits, and checks it again. Only an agent
 * that is disabled or gone after the wait is stopped: the call before the wait proves nothing.
 */
export async function retire(
  tools: RetireTools,
  order: {
    readonly poolId: number;
    readonly agent: string;
    /** The id that it was registered with. */
    readonly id?: number;
    readonly container: string;
    readonly reason: string;
    /** The container's own output still shows that it waits for a job. */
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
