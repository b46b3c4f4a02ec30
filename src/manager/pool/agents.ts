import type { AzureAgent } from '../../shared/azure/client.ts';
import { Capabilities, Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
import { isOutdated, published } from './capabilities.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/**
 * Returns whether an agent is ours: by its owner capability or, if that was removed, by the id of the run's registration.
 * Pure.
 */
export function isOurs(agent: AzureAgent, owner: string, id?: number): boolean {
  const known = agent.userCapabilities?.[Capabilities.owner];
  return known === owner || (known === undefined && agent.id === id);
}

/** Returns the id of the pool that a container's agent was registered in. */
export function poolIdOf({ labels }: Pick<OwnContainer, 'labels'>): number | undefined {
  return idIn(labels[Labels.poolId]);
}

/** Returns the agent id of a run's registration; containers of an earlier version have none. */
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
 * Disables an agent and writes the reason into the pool. The reason is written first: a person disabled an agent without one.
 * `id`: of its registration, if known; see isOurs.
 */
export async function disable(
  tools: PoolTools,
  poolId: number,
  { name, id, reason }: { readonly name: string; readonly id?: number; readonly reason: string },
): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent === undefined || !isOurs(agent, tools.state.owner, id)) return;
  // An administrator disabled it: unchanged.
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

/** Undoes `disable`. An agent that a person disabled stays disabled. */
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
  desired: Readonly<Record<string, string>>,
): Promise<void> {
  const agent = await tools.azure.findAgent(poolId, name);
  if (agent === undefined || !isOutdated(agent, desired)) return;
  await tools.azure.setUserCapabilities(poolId, agent.id, published(agent, desired));
}
