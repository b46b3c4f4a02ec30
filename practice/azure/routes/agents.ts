import { randomUUID } from 'node:crypto';

import {
  flag,
  invalidArgument,
  missingArgument,
  nameRefusal,
  namesOf,
  parameter,
} from '../http/arguments.ts';
import { publicKeyOf } from '../http/oauth.ts';
import { type FakeCall, type Reply, type Route, empty, ok, refusal, textOf } from '../http/reply.ts';
import {
  chosenProperties,
  describeAgentReference,
  describeIdentity,
  describeRequest,
  propertiesOf,
} from '../shapes.ts';
import { type Activity, activityOf } from '../world/activity.ts';
import { agentNamed, agentOf, agentsIn, removeAgent, renameAgent } from '../world/agent-index.ts';
import { assignedRequest, satisfies } from '../world/queue.ts';
import { type Fake, asRead, beforeWrite, nextId } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import { packageVersion } from '../world/packages.ts';
import { endSession, sessionOf } from '../world/scheduler.ts';
import type { FakeAgent } from '../world/state.ts';
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

/** Returns the agents that a query requests, as reads show them. */
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

/** The members that POST and PUT take; PUT replaces all of them. */
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

/** Returns undefined if the agent has the new name, or keeps its own. */
function rename(fake: Fake, agent: FakeAgent, desired: string): Reply | undefined {
  const name = desired.trim();
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
  // The service answers the same if there is nothing to delete.
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

/** Details of agents that a caller requests. */
export interface AgentDetails {
  readonly capabilities?: boolean;
  readonly assignedRequest?: boolean;
  readonly lastCompletedRequest?: boolean;
  /** Filters on names of properties; undefined: none. */
  readonly properties?: readonly string[] | undefined;
  /** The answer to a registration, with the login. */
  readonly registered?: boolean;
}

/** Returns an agent as the service shows it. Undefined members are omitted from the JSON. */
export function describeAgent(
  fake: Fake,
  baseUrl: string,
  agent: FakeAgent,
  activity: Activity,
  details: AgentDetails,
) {
  const { publicKey, clientId } = agent;
  const assigned = details.assignedRequest === true ? activity.assigned.get(agent.id) : undefined;
  const last = details.lastCompletedRequest === true ? activity.completed.get(agent.id) : undefined;
  const { _links, ...reference } = describeAgentReference(
    baseUrl,
    agent,
    activity.online.has(agent.id) ? 'online' : 'offline',
  );
  return {
    _links,
    maxParallelism: agent.maxParallelism,
    createdOn: agent.createdOn,
    statusChangedOn: agent.statusChangedOn,
    authorization: {
      clientId,
      ...(details.registered === true ? { authorizationUrl: `${agent.baseUrl}/_apis/oauth2/token` } : {}),
      ...(publicKey === undefined ? {} : { publicKey }),
    },
    ...reference,
    ...(details.registered === true
      ? { properties: { ServerUrl: { $type: 'System.String', $value: `${agent.baseUrl}/` } } }
      : chosenProperties(agent.properties, details.properties)),
    pendingUpdate: describeUpdate(baseUrl, agent),
    ...(details.capabilities === true
      ? { systemCapabilities: agent.systemCapabilities, userCapabilities: agent.userCapabilities }
      : {}),
    assignedRequest: assigned && describeRequest(fake, baseUrl, assigned, activity),
    lastCompletedRequest: last && describeRequest(fake, baseUrl, last, activity),
  };
}

/** Returns nothing without a request, or when the agent has registered with another version. */
function describeUpdate(baseUrl: string, { update, version }: FakeAgent) {
  if (update === undefined || update.from !== version) return undefined;
  return {
    currentState: update.state,
    reason: { code: 'manual' },
    requestedBy: describeIdentity(baseUrl, admin),
    requestTime: update.requestedOn,
    sourceVersion: packageVersion(update.from),
    targetVersion: packageVersion(update.to),
  };
}

type Body = Readonly<Record<string, unknown>>;

/** Returns the error in a body of an agent; undefined: none. A change may omit name and version. */
function agentRefusal(body: Body, mode: 'whole' | 'change', id?: string): Reply | undefined {
  const { name, version, systemCapabilities, userCapabilities } = body;
  return (
    idRefusal(body['id'], id) ??
    (mode === 'whole' || given(name)
      ? nameRefusal(name, { parameter: 'agent.Name', what: 'Agent', longest: 64 })
      : undefined) ??
    (mode === 'whole' || given(version) ? versionRefusal(version) : undefined) ??
    parallelismRefusal(body['maxParallelism']) ??
    enabledRefusal(body['enabled']) ??
    capabilityRefusal(systemCapabilities, 'agent.SystemCapabilities') ??
    capabilityRefusal(userCapabilities, 'agent.UserCapabilities') ??
    keyRefusal(body)
  );
}

/** Returns the public key for an agent; undefined: none is given. Its parts are empty if they are not text. */
function publicKeyIn(body: Body): FakeAgent['publicKey'] {
  const { publicKey } = Object(body['authorization']) as { publicKey?: unknown };
  if (publicKey === undefined || publicKey === null) return undefined;
  const parts = Object(publicKey) as Body;
  return { exponent: textOf(parts, 'exponent'), modulus: textOf(parts, 'modulus') };
}

function keyRefusal(body: Body): Reply | undefined {
  const key = publicKeyIn(body);
  return key === undefined || publicKeyOf(key) !== undefined
    ? undefined
    : invalidArgument('The public key is not valid.', 'agent.Authorization.PublicKey');
}

const given = (value: unknown) => value !== undefined && value !== null && value !== '';

/** Clients that do not know it send 0. */
function idRefusal(value: unknown, id: string | undefined): Reply | undefined {
  return id === undefined || !given(value) || value === 0 || Number(value) === Number(id)
    ? undefined
    : invalidArgument('The agent is not the one that the path names.', 'agent.Id');
}

function parallelismRefusal(value: unknown): Reply | undefined {
  return !given(value) || (Number.isInteger(value) && Number(value) > 0)
    ? undefined
    : invalidArgument('The number of jobs at a time is not valid.', 'agent.MaxParallelism');
}

function enabledRefusal(value: unknown): Reply | undefined {
  return value === undefined || value === null || typeof value === 'boolean'
    ? undefined
    : invalidArgument('The value is neither true nor false.', 'agent.Enabled');
}

export function versionRefusal(version: unknown): Reply | undefined {
  return typeof version === 'string' && /^\d+\.\d+(?:\.\d+){0,2}/u.test(version)
    ? undefined
    : invalidArgument('The agent version is not valid.', 'agent.Version');
}

/** Names of at most 256 characters without blanks around them, values of at most 1024 (read from the server's check). */
export function capabilityRefusal(given: unknown, parameter: string): Reply | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'object' || Array.isArray(given)) return missingArgument(parameter);
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    if (name === '' || name.length > 256 || name.trim() !== name) {
      return invalidArgument(`Capability name ${name.slice(0, 300)} is not valid.`, parameter);
    }
    if (typeof value === 'object') {
      return invalidArgument(`The value of capability ${name} is no text.`, parameter);
    }
    if (String(value).length > 1024) {
      return invalidArgument(`The value of capability ${name} has more than 1024 characters.`, parameter);
    }
  }
  return undefined;
}

/** Returns the capabilities to keep: those with the value null are removed. */
export function capabilitiesOf(given: unknown): Record<string, string> {
  const entries = Object.entries(Object(given) as Record<string, unknown>);
  return Object.fromEntries(
    entries.filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]),
  );
}
