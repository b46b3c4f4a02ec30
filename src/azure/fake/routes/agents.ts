import { randomUUID } from 'node:crypto';
import { describeAgent, describeRequest } from './describe.ts';
import { asRead, beforeWrite, nextId, type Fake } from '../world/fake.ts';
import { poolMissing } from './pools.ts';
import {
  accessDenied,
  empty,
  list,
  ok,
  refusal,
  textOf,
  type FakeCall,
  type Reply,
  type Route,
} from '../http/reply.ts';
import { send } from '../world/messages.ts';
import { assignedRequest } from '../world/queue.ts';
import { endSession, sessionOf } from '../world/scheduler.ts';
import type { FakeAgent } from '../world/state.ts';

const one = /^\/_apis\/distributedtask\/pools\/(\d+)\/agents\/(\d+)$/u;
const all = /^\/_apis\/distributedtask\/pools\/(\d+)\/agents$/u;
const key = (agent: { id: number }) => `agent ${agent.id}`;

function visible(fake: Fake, poolId: number): FakeAgent[] {
  return fake.state.agents
    .filter((agent) => agent.poolId === poolId)
    .map((agent) => asRead(fake, key(agent), agent))
    .filter((agent) => agent !== undefined);
}

function missing(id: string): Reply {
  return refusal(404, 'TaskAgentNotFoundException', `Agent with identifier ${id} was not found.`);
}

/** Runs a change of one agent after the checks that all changes share. */
function change(call: FakeCall, poolId: string, id: string, apply: (agent: FakeAgent) => Reply): Reply {
  const { fake } = call;
  if (fake.denied.has('pools.manage')) return accessDenied(`Manage permissions for pool ${poolId}`);
  const agent = fake.state.agents.find((each) => each.id === Number(id) && each.poolId === Number(poolId));
  if (agent === undefined) return missing(id);
  beforeWrite(fake, key(agent), agent);
  const reply = apply(agent);
  fake.changed();
  return reply;
}

/** What POST and PUT take over; PUT replaces all of it. */
function registration({ body, baseUrl }: FakeCall) {
  const { publicKey } = Object(body['authorization']) as { publicKey?: FakeAgent['publicKey'] };
  return {
    version: textOf(body, 'version'),
    osDescription: textOf(body, 'osDescription'),
    enabled: body['enabled'] !== false,
    systemCapabilities: (body['systemCapabilities'] ?? {}) as Record<string, string>,
    baseUrl,
    ...(publicKey === undefined ? {} : { publicKey }),
  };
}

export const agentRoutes: readonly Route[] = [
  [
    'GET',
    all,
    ({ fake, query }, poolId = '') => {
      if (!fake.state.pools.some(({ id }) => id === Number(poolId))) return poolMissing(poolId);
      const name = query.get('agentName')?.toLowerCase();
      const agents = visible(fake, Number(poolId)).filter(
        (agent) => name === undefined || agent.name.toLowerCase() === name,
      );
      return list(agents.map((agent) => describeAgent(fake, agent, query)));
    },
  ],
  [
    'GET',
    one,
    ({ fake, query }, poolId = '', id = '') => {
      const agent = visible(fake, Number(poolId)).find((candidate) => candidate.id === Number(id));
      return agent === undefined ? missing(id) : ok(describeAgent(fake, agent, query));
    },
  ],
  [
    'POST',
    all,
    (call, poolId = '') => {
      const { fake, body } = call;
      if (fake.denied.has('pools.manage')) return accessDenied(`Manage permissions for pool ${poolId}`);
      const pool = fake.state.pools.find(({ id }) => id === Number(poolId));
      if (pool === undefined) return poolMissing(poolId);
      const name = textOf(body, 'name');
      const taken = fake.state.agents.some(
        (agent) => agent.poolId === pool.id && agent.name.toLowerCase() === name.toLowerCase(),
      );
      if (taken) {
        const message = `Pool ${pool.name} already contains an agent with name ${name}.`;
        return refusal(409, 'TaskAgentExistsException', message);
      }
      const agent: FakeAgent = {
        id: nextId(fake),
        poolId: pool.id,
        name,
        clientId: randomUUID(),
        createdOn: new Date(fake.now()).toISOString(),
        userCapabilities: (body['userCapabilities'] ?? {}) as Record<string, string>,
        updateRequested: false,
        revoked: false,
        ...registration(call),
      };
      beforeWrite(fake, key(agent), undefined);
      fake.state.agents.push(agent);
      fake.changed();
      return ok(describeAgent(fake, agent, call.query, true));
    },
  ],
  [
    'PUT',
    one,
    (call, poolId = '', id = '') =>
      change(call, poolId, id, (agent) => {
        const { userCapabilities } = call.body as { userCapabilities?: Record<string, string> };
        Object.assign(agent, registration(call), userCapabilities === undefined ? {} : { userCapabilities });
        agent.revoked = false;
        agent.updateRequested = false;
        return ok(describeAgent(call.fake, agent, call.query, true));
      }),
  ],
  [
    'PATCH',
    one,
    (call, poolId = '', id = '') =>
      change(call, poolId, id, (agent) => {
        if (typeof call.body['enabled'] === 'boolean') agent.enabled = call.body['enabled'];
        return ok(describeAgent(call.fake, agent, call.query));
      }),
  ],
  [
    'PUT',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/agents\/(\d+)\/usercapabilities$/u,
    (call, poolId = '', id = '') =>
      change(call, poolId, id, (agent) => {
        agent.userCapabilities = call.body as Record<string, string>;
        return ok(describeAgent(call.fake, agent, call.query));
      }),
  ],
  [
    'DELETE',
    one,
    (call, poolId = '', id = '') => {
      const { fake } = call;
      const reply = change(call, poolId, id, (agent) => {
        if (assignedRequest(fake, agent.id) !== undefined) {
          const pool = fake.state.pools.find((candidate) => candidate.id === agent.poolId);
          const message = `Agent "${agent.name}" is running a job for pool "${pool?.name}"`;
          return refusal(400, 'TaskAgentJobStillRunningException', message);
        }
        const session = sessionOf(fake, agent.id);
        if (session !== undefined) endSession(fake, session);
        fake.state.agents = fake.state.agents.filter((candidate) => candidate !== agent);
        return empty;
      });
      // The service says the same when there is nothing to delete.
      return reply.status === 404 ? empty : reply;
    },
  ],
  [
    'POST',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/messages$/u,
    (call, poolId = '') =>
      change(call, poolId, call.query.get('agentId') ?? '', (agent) => {
        agent.updateRequested = true;
        const session = sessionOf(call.fake, agent.id);
        if (session !== undefined) send(call.fake, session, 'AgentRefresh', { agentId: agent.id });
        return ok({});
      }),
  ],
  [
    'GET',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests$/u,
    ({ fake, query }, poolId = '') => {
      const completed = Number(query.get('completedRequestCount') ?? 50);
      const ofPool = fake.state.requests.filter((request) => request.poolId === Number(poolId));
      const done = ofPool
        .filter(({ result }) => result !== undefined)
        .slice(completed === 0 ? Infinity : -completed);
      const open = ofPool.filter(({ result }) => result === undefined);
      return list([...open, ...done].map((request) => describeRequest(fake, request)));
    },
  ],
  [
    'GET',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests\/(\d+)$/u,
    ({ fake }, _poolId, id = '') => {
      const request = fake.state.requests.find(({ requestId }) => requestId === Number(id));
      const message = `No job found with identifier ${id}.`;
      return request === undefined
        ? refusal(404, 'TaskAgentJobNotFoundException', message)
        : ok(describeRequest(fake, request));
    },
  ],
];
