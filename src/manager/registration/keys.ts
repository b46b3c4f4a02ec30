import { isDeepStrictEqual } from 'node:util';
import type { AzureAgent, NewAgent } from '../../shared/azure/client.ts';
import { hasCode } from '../../shared/azure/http/errors.ts';
import { Capabilities, Labels } from '../../shared/contract/paths.ts';
import { NotYet } from '../causes.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { NextKey } from '../model.ts';
import { isOurs } from '../pool/agents.ts';
import { givenUpAt, stillAssigned } from '../../shared/azure/job-requests.ts';
import { containerExists } from './decide.ts';
import { generateAgentKey, type AgentKey } from '../../shared/azure/keys.ts';

export interface KeyTools extends Pick<ManagerDeps, 'azure' | 'clock'> {
  readonly state: { readonly owner: string };
  readonly keys: Pick<KeyStock, 'take'>;
}

/** The run whose key ends. */
interface EndedRun {
  readonly poolId: number;
  readonly agent: string;
  /** Of the run's registration, if known. */
  readonly id?: number;
  /** No slot has this agent any more: the agent is removed with its key, unless the server still counts a job on it. */
  readonly isLast: boolean;
}

/**
 * Replaces the key of an ended run's agent, so that a copy made by the job opens no session. The container has ended,
 * although the server may still show a job. Returns undefined if no agent is ours, or none is left. `found`: called with the
 * agent before the change.
 */
export async function endKey(
  tools: KeyTools,
  { poolId, agent: name, id, isLast }: EndedRun,
  found: (agent: AzureAgent) => void,
): Promise<NextKey | undefined> {
  const agent = await findBounded(tools, poolId, name);
  if (agent === undefined || !isOurs(agent, tools.state.owner, id)) return undefined;
  found(agent);
  if (isLast && (await tools.azure.deleteAgent(poolId, agent.id))) return undefined;
  return replaceKey(tools, poolId, agent);
}

/** The job may have published any number of capabilities: the new entry has none of them. */
function findBounded({ azure }: KeyTools, poolId: number, name: string): Promise<AzureAgent | undefined> {
  return azure.findAgent(poolId, name).catch(async (error: unknown) => {
    if (!hasCode(error, 'azure.too-long')) throw error;
    return azure.findAgent(poolId, name, { capabilities: false });
  });
}

/**
 * Replaces the key of an agent without a container. Rejects with `NotYet` if the server shows a job: Docker may have lost the
 * container.
 */
export async function endLostKey(
  tools: KeyTools & Pick<ManagerDeps, 'engine'>,
  { poolId, agent: name, id }: Omit<EndedRun, 'isLast'>,
): Promise<NextKey | undefined> {
  const [agent, containers] = await Promise.all([
    findBounded(tools, poolId, name),
    tools.engine.listOwn({ [Labels.kind]: 'agent' }),
  ]);
  if (agent === undefined || !isOurs(agent, tools.state.owner, id)) return undefined;
  if (containers.some((container) => container.name === name)) throw new NotYet(containerExists(name));
  const { assignedRequest } = agent;
  if (assignedRequest !== undefined)
    throw new NotYet(stillAssigned(name, assignedRequest, givenUpAt(assignedRequest, tools.clock)));
  return replaceKey(tools, poolId, agent);
}

/** Returns whether the server's entry equals the desired one, except for the key. Pure. */
export function isUpToDate(agent: AzureAgent, desired: NewAgent): boolean {
  return (
    agent.version === desired.version &&
    agent.enabled === (desired.enabled ?? true) &&
    isDeepStrictEqual({ ...agent.systemCapabilities }, { ...desired.systemCapabilities }) &&
    isDeepStrictEqual({ ...agent.userCapabilities }, { ...desired.userCapabilities })
  );
}

async function replaceKey(tools: KeyTools, poolId: number, known: AzureAgent): Promise<NextKey> {
  const at = tools.clock.monotonic();
  const key = await tools.keys.take();
  const { name, version = '', enabled, systemCapabilities = {} } = known;
  const userCapabilities = { ...known.userCapabilities, [Capabilities.owner]: tools.state.owner };
  const agent = await tools.azure.replaceAgent(poolId, known.id, {
    name,
    version,
    osDescription: 'Linux',
    systemCapabilities,
    userCapabilities,
    enabled,
    publicKey: key.publicKey,
  });
  // A disabled agent stays disabled.
  if (agent.enabled !== enabled) await tools.azure.setAgentEnabled(poolId, agent.id, enabled);
  const isIdle = known.status === 'offline' && known.assignedRequest === undefined;
  return {
    poolId,
    agent,
    key,
    ...(isIdle ? { idle: { entry: { ...known, systemCapabilities, userCapabilities }, at } } : {}),
  };
}

/** Generates key pairs ahead of launches. */
export class KeyStock {
  readonly #size: number;
  readonly #ready: Promise<AgentKey>[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#fill();
  }

  take(): Promise<AgentKey> {
    const key = this.#ready.shift() ?? generateAgentKey();
    this.#fill();
    return key;
  }

  /** Generates one key at a time, to leave the CPUs to jobs. */
  #fill(): void {
    if (this.#ready.length >= this.#size) return;
    const key = generateAgentKey();
    this.#ready.push(key);
    void key.then(
      () => this.#fill(),
      () => undefined,
    );
  }
}
