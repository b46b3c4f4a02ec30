import type { AzureAgent } from '../../shared/azure/client.ts';
import { Capabilities, Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
import { isDrifted, published } from './capabilities.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** Whether an agent is ours: by its owner capability or, where that was removed, by the id of the run's registration. Pure. */
export function isOurs(agent: AzureAgent, owner: string, id?: number): boolean {
  const mark = agent.userCapabilities?.[Capabilities.owner];
  return mark === owner || (mark === undefined && agent.id === id);
}

/** Returns the id of the pool that an agent was registered in when its container was made. */
export function poolIdOf({ labels }: Pick<OwnContainer, 'labels'>): number | undefined {
  return idIn(labels[Labels.poolId]);
}

/** Returns the id that a run's agent was registered with; containers of an earlier version carry none. */
export function agentIdOf({ labels }: Pick<OwnContainer, 'labels'>): number | undefined {
  return idIn(labels[Labels.agentId]);
}

function idIn(label: string | undefined): number | undefined {
  const id = Number(label);
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

interface PoolTools extends Pick<ManagerDeps, 'azure'> {
  readonly state: { readonly owner: string };
}

/**
 * Disables an agent and says why in the pool. The reason is written first: what is disabled without one is not ours.
 * `id`: under which it was registered, where that is known; then it is ours without the mark of its owner, too.
 */
export async function disable(
  tools: PoolTools,
  poolId: number,
  { name, id, reason }: { readonly name: string; readonly id?: number; readonly reason: string },
): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent === undefined || !isOurs(agent, tools.state.owner, id)) return;
  // Disabled by hand: it stays the administrator's.
  const known = agent.userCapabilities?.[Capabilities.drainReason];
  if (!agent.enabled && known === undefined) return;
  if (known !== reason) {
    await tools.azure.setUserCapabilities(poolId, agent.id, {
      ...agent.userCapabilities,
      [Capabilities.owner]: tools.state.owner,
      [Capabilities.drainReason]: reason,
    });
  }
  if (agent.enabled) await tools.azure.setAgentEnabled(poolId, agent.id, false);
}

/** Undoes `disable`, and nothing else. */
export async function enable(tools: PoolTools, poolId: number, name: string): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent?.userCapabilities?.[Capabilities.drainReason] === undefined || !isOurs(agent, tools.state.owner))
    return;
  if (!agent.enabled) await tools.azure.setAgentEnabled(poolId, agent.id, true);
  const { [Capabilities.drainReason]: _, ...kept } = agent.userCapabilities;
  await tools.azure.setUserCapabilities(poolId, agent.id, kept);
}

/** Writes changed capabilities of a running agent: an idle agent may run for weeks before its next launch. */
export async function publish(
  tools: PoolTools,
  poolId: number,
  name: string,
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent === undefined || !isDrifted(agent, wanted)) return;
  await tools.azure.setUserCapabilities(poolId, agent.id, published(agent, wanted));
}
