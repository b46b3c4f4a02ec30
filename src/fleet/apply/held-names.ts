import type { AzureAgent, AzureClient } from '../../shared/azure/client.ts';
import { findAgents, isListedWhole, ownerId } from '../../shared/azure/pools/agents.ts';
import { defined } from '../../shared/base/objects.ts';
import { type Reading, valueOf } from '../../shared/base/reading.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { leftForMs } from '../../shared/contract/holder.ts';
import { Capabilities, HostPaths } from '../../shared/contract/paths.ts';
import { createManagerClient } from '../client/manager-client.ts';
import { refusedNames, takeNames } from '../client/take-names.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { installedManager, unreadProblem } from '../facts/unread.ts';
import {
  heldNames,
  desiredNames,
  type HeldNames,
  type DesiredNames,
  heldProblem,
  mayBeTaken,
} from '../plan/held-names.ts';
import type { ApplyTools } from './apply-tools.ts';
import { readFacts } from './connection.ts';
import type { Reached, Survey } from './survey.ts';

interface HeldSurvey {
  readonly held: readonly HeldNames[];
  /** Pool → why its agents could not be listed. */
  readonly blocked: ReadonlyMap<string, Problem>;
}

/**
 * Finds agent names of these hosts that another owner has in the pools, with the owner's other agents. Reads no pool if all names are
 * in use on their hosts.
 */
export async function findHeldNames(
  client: AzureClient,
  reached: readonly Pick<Reached, 'host' | 'facts'>[],
  clock: Clock,
): Promise<HeldSurvey> {
  const desired = reached.map(({ host, facts }) => ({
    host: host.name,
    owner: valueOf(ownerOf(facts)),
    names: desiredNames(host, facts),
  }));
  const pools = [...new Set(desired.flatMap(({ names }) => names.map(({ pool }) => pool)))];
  const blocked = new Map<string, Problem>();
  const listed = await Promise.all(
    pools.map(async (pool): Promise<[string, readonly AzureAgent[]]> => {
      try {
        return [pool, await agentsOf(client, pool, desired)];
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        blocked.set(pool, error.at({ step: 'pool' }).problem);
        return [pool, []];
      }
    }),
  );
  return { held: foundIn(desired, new Map(listed), clock), blocked };
}

/** Checks these names again, with the current facts of the host. */
export async function checkAgain(
  client: AzureClient,
  { host, pool, names, holder, others }: HeldNames,
  facts: GatheredFacts,
  clock: Clock,
): Promise<readonly HeldNames[]> {
  const found = await client.findPool(pool);
  const asked = {
    ...defined({ owner: holder.owner }),
    names: [...names.map(({ agent }) => agent), ...others],
  };
  const agents = found === undefined ? [] : await findAgents(client, found, [asked]);
  return foundIn([{ host, owner: valueOf(ownerOf(facts)), names }], new Map([[pool, agents]]), clock);
}

/** Returns the owner ID that a host's manager writes on its agents; absent where none is installed. Pure. */
export function ownerOf(facts: GatheredFacts): Reading<string> {
  const manager = installedManager(facts);
  if (manager.kind === 'unknown') return manager;
  const { installation } = manager.value;
  return installation === undefined
    ? { kind: 'absent' }
    : { kind: 'value', value: ownerId(facts.machineId, installation) };
}

/** Returns the agents with desired names in a pool, and all agents of the other owners of such names. */
async function agentsOf(
  client: AzureClient,
  name: string,
  desired: readonly DesiredNames[],
): Promise<readonly AzureAgent[]> {
  const pool = await client.findPool(name);
  if (pool === undefined) return [];
  const asked = desired.map(({ owner, names }) => ({
    ...defined({ owner }),
    names: names.flatMap((each) => (each.pool === name ? [each.agent] : [])),
  }));
  const agents = await findAgents(client, pool, asked);
  if (isListedWhole(pool, asked)) return agents;
  const names = new Set(asked.flatMap((each) => each.names.map((agent) => agent.toLowerCase())));
  const listed = new Set(asked.flatMap((each) => (each.names.length === 0 ? [] : (each.owner ?? []))));
  const owners = agents.flatMap(({ name: agent, userCapabilities }) =>
    names.has(agent.toLowerCase()) ? (userCapabilities?.[Capabilities.owner] ?? []) : [],
  );
  const all = new Map(agents.map((agent) => [agent.id, agent]));
  for (const owner of new Set(owners.filter((each) => !listed.has(each))))
    for (const agent of await client.listAgents(pool.id, { owner })) all.set(agent.id, agent);
  return [...all.values()];
}

function foundIn(
  desired: readonly DesiredNames[],
  agents: ReadonlyMap<string, readonly AzureAgent[]>,
  clock: Clock,
): readonly HeldNames[] {
  const now = { wall: clock.wall(), leftForMs: clock.scaled(leftForMs) };
  return desired.flatMap((each) => heldNames(each, (pool) => agents.get(pool) ?? [], now));
}

interface TakeOver {
  readonly client: AzureClient;
  /** Names in the plan, of all hosts. */
  readonly held: readonly HeldNames[];
  /** Ids of the confirmed changes. */
  readonly agreed: ReadonlySet<string>;
}

/** The result of a take-over. */
export interface TakenOver {
  /** Number of changes that were made. */
  readonly changes: number;
  /** Why names stay held. */
  readonly problem?: Problem;
}

/**
 * Takes over the confirmed names of a host once its manager runs. Each owner is checked again just before, and by the manager during
 * the take-over: an owner that is online again, or that is another one now, keeps its names, which the problem reports. The same
 * applies to names that were not confirmed.
 */
export async function takeOverNames(
  { host, connection }: Pick<Survey, 'host' | 'connection'>,
  { client, held, agreed }: TakeOver,
  tools: ApplyTools,
): Promise<TakenOver> {
  const ours = held.filter((each) => each.host === host.name);
  if (ours.length === 0) return { changes: 0 };
  const facts = await readFacts(connection, host, tools);
  const manager = installedManager(facts);
  if (manager.kind === 'unknown') return { changes: 0, problem: unreadProblem(host.name, manager.unread) };
  const checked = await Promise.all(ours.map((each) => checkAgain(client, each, facts, tools.clock)));
  const problems: Problem[] = [];
  let changes = 0;
  for (const each of checked.flat()) {
    if (!mayBeTaken(each, agreed)) {
      problems.push(heldProblem(each));
      continue;
    }
    const session = await connection.session();
    const manager = createManagerClient(session.socketAgent(HostPaths.socket), host.name);
    const slots = each.names.map(({ slot }) => slot);
    const { taken, refused, later } = await takeNames(manager, slots, tools);
    if (taken.length > 0) changes += 1;
    if (refused.length > 0) problems.push(refusedNames(host.name, refused).problem);
    const note = (text: string) => tools.emit({ kind: 'note', host: host.name, text });
    for (const { agent } of taken) note(`took over agent ${agent}`);
    for (const { agent } of later) note(`takes over agent ${agent} when its slot starts one`);
  }
  const [problem] = problems;
  return problem === undefined ? { changes } : { changes, problem };
}
