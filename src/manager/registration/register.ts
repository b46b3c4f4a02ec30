import { agentFiles } from '../../azure/keys.ts';
import type { AzureAgent, NewAgent } from '../../azure/client.ts';
import { FleetError } from '../../base/errors.ts';
import { Capabilities, Labels } from '../../contract/paths.ts';
import { mergeCapabilities } from '../pool/capabilities.ts';
import type { LaunchOrder, Registration } from '../docker/launch-order.ts';
import { NotYet } from '../causes.ts';
import { configureInContainer, type ConfigTools } from './register-by-config.ts';
import { decideRegistration } from './files.ts';
import type { Outside } from '../outside.ts';
import type { StateStore } from '../state.ts';
import type { KeyStock } from './key-stock.ts';

export interface RegisterTools extends ConfigTools, Pick<Outside, 'azure'> {
  readonly state: StateStore;
  readonly keys: KeyStock;
}

/** Gives the agent's name a new key, if that is allowed now. */
export async function register(tools: RegisterTools, order: LaunchOrder): Promise<Registration> {
  const { slot, pool } = order;
  const [existing, containers] = await Promise.all([
    tools.azure.findAgent(pool.id, slot.agent),
    tools.engine.listOwn({ [Labels.slot]: slot.name, [Labels.kind]: 'agent' }),
  ]);
  const decision = decideRegistration({
    name: slot.agent,
    agent: existing,
    owner: tools.state.owner,
    adopt: tools.state.value.adopt.includes(slot.name),
    containers: containers.length,
  });
  if (decision.kind === 'wait') throw new NotYet(decision.cause);
  if (decision.kind === 'refuse') throw new FleetError(decision.cause);
  const registration =
    tools.config.registration === 'config'
      ? await byConfig(tools, order, existing)
      : await byRest(tools, order, existing);
  if (tools.state.value.adopt.includes(slot.name)) {
    await tools.state.update((state) => ({ adopt: state.adopt.filter((name) => name !== slot.name) }));
  }
  return registration;
}

async function byRest(
  tools: RegisterTools,
  order: LaunchOrder,
  existing: AzureAgent | undefined,
): Promise<Registration> {
  const { pool } = order;
  const key = await tools.keys.take();
  const wanted: NewAgent = {
    name: order.slot.agent,
    version: order.agentVersion,
    osDescription: 'Linux',
    systemCapabilities: systemCapabilities(order, existing),
    userCapabilities: capabilities(order, existing),
    enabled: mayWork(existing),
    publicKey: key.publicKey,
  };
  const agent =
    existing === undefined
      ? await tools.azure.createAgent(pool.id, wanted)
      : await tools.azure.replaceAgent(pool.id, existing.id, wanted);
  if (agent.userCapabilities?.[Capabilities.owner] !== tools.state.owner) {
    await tools.azure.setUserCapabilities(pool.id, agent.id, capabilities(order, existing));
  }
  const files = agentFiles({ agent, key, pool, organization: tools.config.organization });
  return { agentId: agent.id, files };
}

/** config.sh registers as it likes; what it does not know is put right afterwards. */
async function byConfig(
  tools: RegisterTools,
  order: LaunchOrder,
  existing: AzureAgent | undefined,
): Promise<Registration> {
  const { pool, slot } = order;
  const files = await configureInContainer(tools, order);
  const agent = await tools.azure.findAgent(pool.id, slot.agent);
  if (agent === undefined) {
    throw new FleetError({
      code: 'agent.not-configured',
      what: `config.sh reported success, but the pool has no agent ${slot.agent}`,
      next: 'try again; if it stays, use registration: rest',
    });
  }
  await tools.azure.setUserCapabilities(pool.id, agent.id, capabilities(order, existing));
  if (agent.enabled !== mayWork(existing)) {
    await tools.azure.setAgentEnabled(pool.id, agent.id, mayWork(existing));
  }
  return { agentId: agent.id, files };
}

/** Who was disabled by hand stays disabled; what we disabled ourselves comes back. */
function mayWork(existing: AzureAgent | undefined): boolean {
  return existing === undefined || existing.enabled || disabledByUs(existing);
}

export function disabledByUs(agent: AzureAgent): boolean {
  return !agent.enabled && agent.userCapabilities?.[Capabilities.drainReason] !== undefined;
}

/** What the agent itself found out at its last start; without it jobs with demands would find nobody meanwhile. */
function systemCapabilities(order: LaunchOrder, existing: AzureAgent | undefined): Record<string, string> {
  return {
    'Agent.OS': 'Linux',
    ...existing?.systemCapabilities,
    'Agent.Name': order.slot.agent,
    'Agent.Version': order.agentVersion,
  };
}

/** A new run ends what an earlier drain had to say. */
function capabilities(
  order: LaunchOrder,
  existing: AzureAgent | undefined,
): Readonly<Record<string, string>> {
  const { [Capabilities.drainReason]: _, ...all } = mergeCapabilities(
    existing?.userCapabilities,
    order.capabilities,
  );
  return all;
}
