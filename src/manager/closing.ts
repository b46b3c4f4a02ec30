import type { AzureAgent } from '../azure/client.ts';
import { Capabilities } from '../contract/paths.ts';
import { isDrifted, mergeCapabilities } from './capabilities.ts';
import { stopTimeoutS } from './container.ts';
import type { Tools } from './tools.ts';

/** A message that the server sent before the agent was disabled arrives within this time. */
const settleMs = 5_000;

/** Disables an agent and says why in the pool. The reason is written first: what is disabled without one is not ours. */
export async function disable(tools: Tools, poolId: number, name: string, reason: string): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent === undefined || !isOurs(tools, agent)) return;
  // Disabled by hand: it stays the administrator's.
  const known = agent.userCapabilities?.[Capabilities.drainReason];
  if (!agent.enabled && known === undefined) return;
  if (known !== reason) {
    await tools.azure.setUserCapabilities(poolId, agent.id, {
      ...agent.userCapabilities,
      [Capabilities.drainReason]: reason,
    });
  }
  if (agent.enabled) await tools.azure.setAgentEnabled(poolId, agent.id, false);
}

/** Takes back what `disable` did, and nothing else. */
export async function enable(tools: Tools, poolId: number, name: string): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent?.userCapabilities?.[Capabilities.drainReason] === undefined || !isOurs(tools, agent)) return;
  if (!agent.enabled) await tools.azure.setAgentEnabled(poolId, agent.id, true);
  const { [Capabilities.drainReason]: _, ...kept } = agent.userCapabilities;
  await tools.azure.setUserCapabilities(poolId, agent.id, kept);
}

/** Brings changed capabilities to an agent that lives: a launch would do it, but an idle agent may live for weeks. */
export async function publish(
  tools: Tools,
  poolId: number,
  name: string,
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent === undefined || !isDrifted(agent.userCapabilities, wanted)) return;
  const all = mergeCapabilities(agent.userCapabilities, wanted);
  await tools.azure.setUserCapabilities(poolId, agent.id, all);
}

function isOurs(tools: Tools, agent: AzureAgent): boolean {
  return agent.userCapabilities?.[Capabilities.owner] === tools.state.owner;
}

/**
 * Stops an idle agent: disabled first, so that no job can be given to it any more, then looked at again. True when it
 * was stopped; false when a job had come in meanwhile, which then runs to its end.
 */
export async function retire(
  tools: Tools,
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
