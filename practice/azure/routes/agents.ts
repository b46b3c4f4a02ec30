import { randomUUID } from 'node:crypto';
import { flag, namesOf, parameter } from '../http/query.ts';
import { empty, ok, refusal, textOf, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { describeAgent, type AgentDetails } from '../shapes/agent.ts';
import { propertiesOf } from '../shapes/properties.ts';
import { activityOf } from '../world/activity.ts';
import { agentNamed, agentOf, agentsIn, removeAgent, renameAgent } from '../world/agent-index.ts';
import { satisfies } from '../world/demands.ts';
import { asRead, beforeWrite, nextId, type Fake } from '../world/fake.ts';
import { assignedRequest } from '../world/queue.ts';
import { endSession, sessionOf } from '../world/scheduler.ts';
import type { FakeAgent } from '../world/state.ts';
import { agentRefusal, capabilitiesOf, capabilityRefusal, publicKeyIn } from './agent-body.ts';
import { lockedPool, poolMissing, poolOf } from './pools.ts';

const one = /^\/_apis\/distributedtask\/pools\/(\d+)\/agents\/(\d+)$/iu;
const all = /^\/_apis\/distributedtask\/pools\/(\d+)\/agents$/iu;
const key = (agent: { id: number }) => `agent ${agent.id}`;

function missing(id: string): Reply {
  return refusal(404, 'TaskAgentNotFoundException', `Agent with identifier ${id} was not found.`);
}

function detailsOf(query: URLSearchParams): AgentDetails {
  return {
    capabilities: flag(query, 'includeCapabilities'),
    assignedRequest: flag(query, 'includeAssignedRequest'),
    lastCompletedRequest: flag(query, 'includeLastCompletedRequest'),
    properties: namesOf(query, 'propertyFilters'),
  };
}

function shown({ fake, query, baseUrl }: FakeCall, agent: FakeAgent, details = detailsOf(query)): Reply {
  return ok(describeAgent(fake, baseUrl, agent, activityOf(fake.state), details));
}

/** The agents that a query asks for, as reads show them. */
function findAgents(fake: Fake, poolId: number, query: URLSearchParams): readonly FakeAgent[] {
  const name = parameter(query, 'agentName');
  const demands = fake.ignoresDemands ? undefined : namesOf(query, 'demands');
  const named = name === undefined ? undefined : agentNamed(fake.state, poolId, name);
  const candidates = name === undefined || fake.stale.size > 0 ? agentsIn(fake.state, poolId) : [named];
  return candidates
    .map((agent) => agent && asRead(fake, key(agent), agent))
    .filter((agent) => agent !== undefined)
    .filter(
      (agent) =>
        (name === undefined || agent.name.toLowerCase() === name.toLowerCase()) &&
        (demands === undefined || satisfies([agent.userCapabilities, agent.systemCapabilities], demands)),
    );
}

function* describeAll(call: FakeCall, agents: readonly FakeAgent[]): Iterable<unknown> {
  const { fake, baseUrl, query } = call;
  const activity = activityOf(fake.state);
  const details = detailsOf(query);
  for (const agent of agents) yield describeAgent(fake, baseUrl, agent, activity, details);
}

/** Runs a change of one agent after the checks that all changes share. */
export function changeAgent(
  { fake }: FakeCall,
  poolId: string,
  id: string,
  apply: (agent: FakeAgent) => Reply,
): Reply {
  const pool = poolOf(fake, poolId);
  if (pool === undefined) return poolMissing(poolId);
  const locked = lockedPool(fake, pool);
  if (locked !== undefined) return locked;
  const agent = agentOf(fake.state, Number(id));
  if (agent === undefined || agent.poolId !== pool.id) return missing(id);
  beforeWrite(fake, key(agent), agent);
  const reply = apply(agent);
  fake.changed();
  return reply;
}

/** What POST and PUT take over; PUT replaces all of it. */
function registration({ body, baseUrl }: FakeCall) {
  const publicKey = publicKeyIn(body);
  return {
    osDescription: textOf(body, 'osDescription'),
    enabled: body['enabled'] !== false,
    maxParallelism: typeof body['maxParallelism'] === 'number' ? body['maxParallelism'] : 1,
    provisioningState: textOf(body, 'provisioningState') || 'Provisioned',
    systemCapabilities: capabilitiesOf(body['systemCapabilities']),
    baseUrl,
    ...(publicKey === undefined ? {} : { publicKey }),
  };
}

function nameTaken(fake: Fake, poolId: number, name: string): Reply {
  const message = `Pool ${poolOf(fake, poolId)?.name} already contains an agent with name ${name}.`;
  return refusal(409, 'TaskAgentExistsException', message);
}

function addAgent(call: FakeCall, poolId: string): Reply {
  const { fake, body } = call;
  const refused = agentRefusal(body, 'whole');
  if (refused !== undefined) return refused;
  const pool = poolOf(fake, poolId);
  if (pool === undefined) return poolMissing(poolId);
  const locked = lockedPool(fake, pool);
  if (locked !== undefined) return locked;
  const name = textOf(body, 'name').trim();
  if (agentNamed(fake.state, pool.id, name) !== undefined) return nameTaken(fake, pool.id, name);
  const agent: FakeAgent = {
    id: nextId(fake),
    poolId: pool.id,
    name,
    version: textOf(body, 'version'),
    clientId: randomUUID(),
    createdOn: new Date(fake.now()).toISOString(),
    userCapabilities: capabilitiesOf(body['userCapabilities']),
    properties: propertiesOf(body['properties']),
    revoked: false,
    ...registration(call),
  };
  beforeWrite(fake, key(agent), undefined);
  fake.state.agents.push(agent);
  fake.changed();
  return shown(call, agent, { capabilities: true, registered: true });
}

/** Undefined when the agent has the new name, or keeps its own. */
function rename(fake: Fake, agent: FakeAgent, wanted: string): Reply | undefined {
  const name = wanted.trim();
  if (name === '' || name === agent.name) return undefined;
  const other = agentNamed(fake.state, agent.poolId, name);
  if (other !== undefined && other !== agent) return nameTaken(fake, agent.poolId, name);
  renameAgent(fake.state, agent, name);
  return undefined;
}

function replaceAgent(call: FakeCall, poolId: string, id: string): Reply {
  const { fake, body } = call;
  const refused = agentRefusal(body, 'whole', id);
  if (refused !== undefined) return refused;
  return changeAgent(call, poolId, id, (agent) => {
    const taken = rename(fake, agent, textOf(body, 'name'));
    if (taken !== undefined) return taken;
    Object.assign(agent, registration(call));
    agent.version = textOf(body, 'version');
    if (body['userCapabilities'] !== undefined)
      agent.userCapabilities = capabilitiesOf(body['userCapabilities']);
    Object.assign(agent.properties, propertiesOf(body['properties']));
    agent.revoked = false;
    delete agent.update;
    return shown(call, agent, { capabilities: true, registered: true });
  });
}

function patchAgent(call: FakeCall, poolId: string, id: string): Reply {
  const { fake, body } = call;
  const refused = agentRefusal(body, 'change', id);
  if (refused !== undefined) return refused;
  return changeAgent(call, poolId, id, (agent) => {
    const taken = rename(fake, agent, textOf(body, 'name'));
    if (taken !== undefined) return taken;
    if (typeof body['enabled'] === 'boolean') agent.enabled = body['enabled'];
    if (typeof body['maxParallelism'] === 'number') agent.maxParallelism = body['maxParallelism'];
    agent.provisioningState = textOf(body, 'provisioningState') || agent.provisioningState;
    return shown(call, agent);
  });
}

function deleteAgent(call: FakeCall, poolId: string, id: string): Reply {
  const { fake } = call;
  const reply = changeAgent(call, poolId, id, (agent) => {
    if (assignedRequest(fake, agent.id) !== undefined) {
      const message = `Agent "${agent.name}" is running a job for pool "${poolOf(fake, poolId)?.name}"`;
      return refusal(400, 'TaskAgentJobStillRunningException', message);
    }
    const session = sessionOf(fake, agent.id);
    if (session !== undefined) endSession(fake, session);
    removeAgent(fake.state, agent);
    return empty;
  });
  // The service says the same when there is nothing to delete.
  return reply.status === 404 ? empty : reply;
}

export const agentRoutes: readonly Route[] = [
  [
    'GET',
    all,
    (call, poolId = '') => {
      const { fake, query } = call;
      if (poolOf(fake, poolId) === undefined) return poolMissing(poolId);
      const found = findAgents(fake, Number(poolId), query);
      return { status: 200, items: { count: found.length, value: describeAll(call, found) } };
    },
  ],
  [
    'GET',
    one,
    (call, poolId = '', id = '') => {
      const { fake } = call;
      const agent = agentOf(fake.state, Number(id));
      const seen = agent?.poolId === Number(poolId) ? asRead(fake, key(agent), agent) : undefined;
      return seen === undefined ? missing(id) : shown(call, seen);
    },
  ],
  ['POST', all, (call, poolId = '') => addAgent(call, poolId)],
  ['PUT', one, (call, poolId = '', id = '') => replaceAgent(call, poolId, id)],
  ['PATCH', one, (call, poolId = '', id = '') => patchAgent(call, poolId, id)],
  [
    'PUT',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/agents\/(\d+)\/usercapabilities$/iu,
    (call, poolId = '', id = '') =>
      capabilityRefusal(call.body, 'userCapabilities') ??
      changeAgent(call, poolId, id, (agent) => {
        agent.userCapabilities = capabilitiesOf(call.body);
        return shown(call, agent, { capabilities: true });
      }),
  ],
  ['DELETE', one, (call, poolId = '', id = '') => deleteAgent(call, poolId, id)],
];
