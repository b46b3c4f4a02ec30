import { agentFiles, type AgentKey } from '../../shared/azure/keys.ts';
import type { AzureAgent, JobRequest, NewAgent } from '../../shared/azure/client.ts';
import { hasCode } from '../../shared/azure/http/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { leftForMs } from '../../shared/contract/holder.ts';
import { Capabilities, Labels } from '../../shared/contract/paths.ts';
import { mergeCapabilities } from '../pool/capabilities.ts';
import { rememberNames } from '../pool/own-agents.ts';
import { givenUpAt, stillAssigned } from '../../shared/azure/job-requests.ts';
import type { LaunchOrder, Registration } from '../docker/container.ts';
import { NotYet } from '../causes.ts';
import { type ConfigTools, configureInContainer } from './register-by-config.ts';
import { decideRegistration, isLeftOnline } from './decide.ts';
import { isUpToDate, type KeyStock } from './keys.ts';
import type { NextKey, Slot } from '../model.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { Configuring, KeptEntry, StateStore } from '../state.ts';
import { defaultAgentVersion } from '../../shared/contract/agent-release.ts';
import type { ImageConfig } from '../../shared/contract/config.ts';

export interface RegisterTools extends ConfigTools, Pick<ManagerDeps, 'azure' | 'clock' | 'log'> {
  readonly state: StateStore;
  readonly keys: KeyStock;
  /** The runs of slots with `mode: host`. */
  readonly host: { readonly engine: Pick<Engine, 'listOwn'> };
}

/** The pool's entry of the name, if any, and the entry from which the new one takes its settings: the same or a deleted one. */
interface Earlier {
  readonly existing: AzureAgent | undefined;
  readonly entry: KeptEntry | undefined;
}

/** Registers the agent with a new key, if that is allowed now. */
export async function register(tools: RegisterTools, order: LaunchOrder): Promise<Registration> {
  const { slot, pool } = order;
  const [existing, all] = await Promise.all([
    leftIdle(tools, order) ?? tools.azure.findAgent(pool.id, slot.agent),
    runsOf(tools, slot),
  ]);
  // A renamed slot has its agent's container under the earlier name.
  const containers = all.filter(
    ({ name, labels }) => name === slot.agent || labels[Labels.slot] === slot.name,
  );
  const { left } = order.connection;
  const adopt = tools.state.value.adopt.includes(slot.name);
  const mayBeRenewed = left !== undefined && existing !== undefined && isLeftOnline(existing);
  const decision = decideRegistration({
    name: slot.agent,
    agent: existing,
    owner: tools.state.owner,
    adopt,
    started: hasStarted(tools.state.value.configuring[slot.name], order, existing),
    host: tools.config.host,
    now: { wall: tools.clock.wall(), leftForMs: tools.clock.scaled(leftForMs) },
    containers: containers.length,
    jobUntil: givenUpAt(existing?.assignedRequest ?? {}, tools.clock),
    left,
    requests: mayBeRenewed ? await queueOf(tools, pool.id) : [],
  });
  if (decision.kind === 'wait') throw new NotYet(decision.cause);
  if (decision.kind === 'refuse') {
    // The permission ends: otherwise the name would be taken when its owner is offline for a moment.
    if (adopt) await endAdoption(tools.state, slot.name);
    throw new FleetError(decision.cause);
  }
  if (decision.kind === 'renew') await giveUpEntry(tools, order, decision.agent);
  await rememberNames(tools.state, pool.id, [slot.agent]);
  const renewing = tools.state.value.renewing[slot.name];
  const earlier: Earlier =
    decision.kind === 'replace'
      ? { existing: decision.agent, entry: decision.agent }
      : { existing: undefined, entry: renewing };
  const registration =
    tools.config.registration === 'config'
      ? await byConfig(tools, order, earlier)
      : await byRest(tools, order, earlier);
  if (renewing !== undefined)
    await tools.state.note((state) => ({
      renewing: Object.fromEntries(Object.entries(state.renewing).filter(([name]) => name !== slot.name)),
    }));
  if (tools.state.value.configuring[slot.name] !== undefined)
    await tools.state.note(({ configuring }) => ({
      configuring: Object.fromEntries(Object.entries(configuring).filter(([name]) => name !== slot.name)),
    }));
  if (adopt) await endAdoption(tools.state, slot.name);
  return registration;
}

/** How long the end of a run counts as a read of the agent's entry; unscaled milliseconds. */
const freshMs = 5_000;

/**
 * Returns the entry that the end of the slot's last run has just written, if there is nothing to write and nothing to wait
 * for: the next run then starts one call to the server sooner.
 */
function leftIdle({ config, clock }: RegisterTools, order: LaunchOrder): AzureAgent | undefined {
  const { next } = order.key;
  const { entry, at = 0 } = next?.idle ?? {};
  if (next === undefined || entry === undefined || clock.monotonic() - at > clock.scaled(freshMs))
    return undefined;
  const isSame = next.poolId === order.pool.id && entry.name === order.slot.agent;
  if (!isSame || config.registration === 'config' || order.connection.left !== undefined) return undefined;
  return isUpToDate(entry, desiredEntry(order, entry, entry, next.key)) ? entry : undefined;
}

/** Reads the queue; undefined: too long for this program's memory. The session then expires within five minutes. */
async function queueOf({ azure }: RegisterTools, poolId: number): Promise<readonly JobRequest[] | undefined> {
  return azure.unfinishedRequests(poolId).catch((error: unknown) => {
    if (hasCode(error, 'azure.too-long')) return undefined;
    throw error;
  });
}

/**
 * Lists the runs. While Docker does not answer, only host runs are listed: a launch requires that the last list had no
 * container of the slot.
 */
function runsOf({ engine, host }: RegisterTools, { mode }: Slot): Promise<readonly OwnContainer[]> {
  const agents = { [Labels.kind]: 'agent' };
  const all = engine.listOwn(agents);
  return mode === 'host' ? all.catch(() => host.engine.listOwn(agents)) : all;
}

async function endAdoption(state: StateStore, slot: string): Promise<void> {
  await state.note(({ adopt }) => ({ adopt: adopt.filter((name) => name !== slot) }));
}

/** Deletes the entry, whose session has no polls. Its settings are saved for the new entry. */
async function giveUpEntry(tools: RegisterTools, order: LaunchOrder, agent: AzureAgent): Promise<void> {
  const entry = {
    enabled: agent.enabled,
    ...defined({
      userCapabilities: unlessTooLong(agent.userCapabilities),
      systemCapabilities: unlessTooLong(agent.systemCapabilities),
    }),
  };
  await tools.state.update(({ renewing }) => ({ renewing: { ...renewing, [order.slot.name]: entry } }));
  if (!(await tools.azure.deleteAgent(order.pool.id, agent.id))) {
    // The agent has a job now.
    const { assignedRequest } =
      (await tools.azure.findAgent(order.pool.id, agent.name, { capabilities: false })) ?? {};
    throw new NotYet(
      stillAssigned(agent.name, assignedRequest, givenUpAt(assignedRequest ?? {}, tools.clock)),
    );
  }
  order.connection.renewed();
  tools.log.log('info', 'deleted the entry of an agent that had left its session open; creating it again', {
    agent: agent.name,
    id: agent.id,
  });
}

/** Characters of capabilities that the state keeps of a deleted entry; an agent has a tenth. */
const longestKept = 65_536;

/** A job can publish more with its agent's key: they must not fill the state, which every start reads. */
function unlessTooLong(capabilities: AzureAgent['userCapabilities']): AzureAgent['userCapabilities'] {
  return JSON.stringify(capabilities ?? {}).length > longestKept ? undefined : capabilities;
}

async function byRest(
  tools: RegisterTools,
  order: LaunchOrder,
  { existing, entry }: Earlier,
): Promise<Registration> {
  const { pool } = order;
  const next =
    order.key.next?.poolId === pool.id && order.key.next.agent.id === existing?.id
      ? order.key.next
      : undefined;
  const key = next?.key ?? (await tools.keys.take());
  const desired = desiredEntry(order, existing, entry, key);
  const agent = await entryFor(tools, pool.id, desired, existing, next);
  if (agent.userCapabilities?.[Capabilities.owner] !== tools.state.owner) {
    await tools.azure.setUserCapabilities(pool.id, agent.id, capabilities(order, entry));
  }
  if (agent.enabled !== mayWork(entry)) {
    await tools.azure.setAgentEnabled(pool.id, agent.id, mayWork(entry));
  }
  const files = agentFiles({ agent, key, pool, organization: tools.config.organization });
  return { agentId: agent.id, files };
}

function desiredEntry(
  order: LaunchOrder,
  existing: AzureAgent | undefined,
  entry: KeptEntry | undefined,
  { publicKey }: AgentKey,
): NewAgent {
  // A deleted entry is saved without its version, which the agent's own capability has.
  const version = order.agentVersion(existing?.version ?? entry?.systemCapabilities?.['Agent.Version']);
  return {
    name: order.slot.agent,
    version,
    osDescription: 'Linux',
    systemCapabilities: systemCapabilities(order, version, entry),
    userCapabilities: capabilities(order, entry),
    enabled: mayWork(entry),
    publicKey,
  };
}

/**
 * Creates or updates the entry. `next`: the agent's key since the last run; with it, an entry that is up to date is not
 * written.
 */
async function entryFor(
  { azure }: RegisterTools,
  poolId: number,
  desired: NewAgent,
  existing: AzureAgent | undefined,
  next: NextKey | undefined,
): Promise<AzureAgent> {
  if (existing === undefined) return azure.createAgent(poolId, desired);
  if (next === undefined || !isUpToDate(existing, desired))
    return azure.replaceAgent(poolId, existing.id, desired);
  const { enabled, userCapabilities } = existing;
  return { ...next.agent, enabled, ...defined({ userCapabilities }) };
}

/** Registers with config.sh, and then corrects the entry. */
async function byConfig(
  tools: RegisterTools,
  order: LaunchOrder,
  { existing, entry }: Earlier,
): Promise<Registration> {
  const { pool, slot } = order;
  const started: Configuring = { poolId: pool.id, agent: slot.agent, ...defined({ id: existing?.id }) };
  await tools.state.update(({ configuring }) => ({ configuring: { ...configuring, [slot.name]: started } }));
  const files = await configureInContainer(tools, order);
  const agent = await tools.azure.findAgent(pool.id, slot.agent);
  if (agent === undefined) {
    throw new FleetError({
      code: 'agent.not-configured',
      what: `config.sh reported success, but the pool has no agent ${slot.agent}`,
      next: 'try again; if it stays, use registration: rest',
    });
  }
  await tools.azure.setUserCapabilities(pool.id, agent.id, capabilities(order, entry));
  if (agent.enabled !== mayWork(entry)) {
    await tools.azure.setAgentEnabled(pool.id, agent.id, mayWork(entry));
  }
  return { agentId: agent.id, files };
}

/** Returns whether config.sh created the entry before this manager was killed, so that it has no owner yet. */
function hasStarted(
  started: Configuring | undefined,
  order: LaunchOrder,
  agent: AzureAgent | undefined,
): boolean {
  if (started === undefined || started.poolId !== order.pool.id || started.agent !== order.slot.agent)
    return false;
  return started.id === undefined || started.id === agent?.id;
}

/** Returns whether the new entry is enabled: an agent that a person disabled stays disabled. */
function mayWork(existing: KeptEntry | undefined): boolean {
  return existing === undefined || existing.enabled || disabledByUs(existing);
}

export function disabledByUs(agent: KeptEntry): boolean {
  return !agent.enabled && agent.userCapabilities?.[Capabilities.drainReason] !== undefined;
}

/** Returns the capabilities that the agent reported at its last start: jobs with demands need them until it reports again. */
function systemCapabilities(
  order: LaunchOrder,
  version: string,
  existing: KeptEntry | undefined,
): Record<string, string> {
  return {
    'Agent.OS': 'Linux',
    ...existing?.systemCapabilities,
    'Agent.Name': order.slot.agent,
    'Agent.Version': version,
  };
}

/** Returns the capabilities of a new run, without the reason of an earlier drain. */
function capabilities(order: LaunchOrder, existing: KeptEntry | undefined): Readonly<Record<string, string>> {
  const { [Capabilities.drainReason]: _, ...all } = mergeCapabilities(
    existing?.userCapabilities,
    order.capabilities,
  );
  return all;
}

/**
 * Returns the version that an agent is registered with until it reports its own: that of an image built here; for another
 * image the version that the server has, else the default. Never 0.0.0: the server would update such an agent, and give it
 * no job that demands a version.
 */
export function registeredVersion(image: ImageConfig, known: string | undefined): string {
  if (image.kind === 'build') return image.agentVersion;
  return known === undefined || !/^[1-9]\d*(?:\.\d+)+$/u.test(known) ? defaultAgentVersion : known;
}
