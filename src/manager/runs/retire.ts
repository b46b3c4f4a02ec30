import { stopTimeoutS } from '../docker/container.ts';
import { defined } from '../../shared/base/objects.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { disable } from '../pool/agents.ts';

/** A job that the server sent before it disabled the agent arrives within this time. */
const settleMs = 5_000;

interface RetireTools extends Pick<ManagerDeps, 'azure' | 'engine' | 'clock' | 'signal'> {
  readonly state: { readonly owner: string };
}

/** `busy`: a job has arrived, which runs to its end. `enabled`: the server may still give it one. */
export type RetireEnd = 'stopped' | 'busy' | 'enabled' | 'interrupted';

/**
 * Stops an idle agent: disables it, so that the server assigns it no further job, waits, and reads it again. An agent is
 * stopped only if it is disabled or deleted after the wait.
 */
export async function retire(
  tools: RetireTools,
  order: {
    readonly poolId: number;
    readonly agent: string;
    /** The agent id of its registration. */
    readonly id?: number;
    readonly container: string;
    readonly reason: string;
    /** Returns whether the output of the container still shows an idle agent. */
    isIdle(): boolean;
  },
): Promise<RetireEnd> {
  const { id, agent: name, reason } = order;
  await disable(tools, order.poolId, { name, reason, ...defined({ id }) });
  await tools.clock.wait(settleMs, tools.signal);
  if (tools.signal.aborted) return 'interrupted';
  const agent = await tools.azure.findAgent(order.poolId, order.agent, { capabilities: false });
  if (agent?.assignedRequest !== undefined || !order.isIdle()) return 'busy';
  if (agent?.enabled === true) return 'enabled';
  await tools.engine.stop(order.container, stopTimeoutS);
  return 'stopped';
}
