import { parameter } from '../http/query.ts';
import { ok, refusal, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { describeAgent } from '../shapes/agent.ts';
import { activityOf } from '../world/activity.ts';
import { agentOf, agentsIn } from '../world/agent-index.ts';
import { newestVersion } from '../world/packages.ts';
import { send } from '../world/messages.ts';
import { sessionOf } from '../world/scheduler.ts';
import type { FakeAgent } from '../world/state.ts';
import { changeAgent } from './agents.ts';
import { lockedPool, poolMissing, poolOf } from './pools.ts';

/** How long an agent may take over an update, as .NET writes a time span. */
const timeout = '01:00:00';

/** Asks an agent to update itself to the newest version. */
function request({ fake }: FakeCall, agent: FakeAgent): void {
  agent.update = {
    requestedOn: new Date(fake.now()).toISOString(),
    state: 'Requested',
    from: agent.version,
    to: newestVersion,
  };
  const session = sessionOf(fake, agent.id);
  const message = { agentId: agent.id, targetVersion: newestVersion, timeout };
  if (session !== undefined) send(fake, session, 'AgentRefresh', message);
}

const isPending = ({ update, version }: FakeAgent) => update !== undefined && update.from === version;

/** All agents of the pool that no update is pending for. */
function refreshAll(call: FakeCall, poolId: string): Reply {
  const { fake } = call;
  const pool = poolOf(fake, poolId);
  if (pool === undefined) return poolMissing(poolId);
  const locked = lockedPool(fake, pool);
  if (locked !== undefined) return locked;
  for (const agent of agentsIn(fake.state, pool.id)) {
    if (!isPending(agent)) request(call, agent);
  }
  fake.changed();
  return ok({});
}

function refreshOne(call: FakeCall, poolId: string, id: string): Reply {
  return changeAgent(call, poolId, id, (agent) => {
    if (isPending(agent)) {
      const message = `Agent ${agent.name} already has an update that is pending.`;
      return refusal(409, 'TaskAgentPendingUpdateExistsException', message);
    }
    request(call, agent);
    return ok({});
  });
}

export const refreshRoutes: readonly Route[] = [
  [
    'POST',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/messages$/iu,
    (call, poolId = '') => {
      const agentId = parameter(call.query, 'agentId');
      return agentId === undefined ? refreshAll(call, poolId) : refreshOne(call, poolId, agentId);
    },
  ],
];

/** How far an update has come: told by the agent itself, or by a client. */
export const updateRoutes: readonly Route[] = [
  [
    'PUT',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/agents\/(\d+)\/updates$/iu,
    (call, poolId = '', id = '') => {
      const { fake, baseUrl, query } = call;
      const agent = agentOf(fake.state, Number(id));
      const another = call.agentId !== undefined && call.agentId !== agent?.id;
      if (agent === undefined || agent.poolId !== Number(poolId) || another) {
        return refusal(404, 'TaskAgentNotFoundException', `Agent with identifier ${id} was not found.`);
      }
      if (agent.update === undefined) {
        const message = `No update is pending for agent ${agent.name}.`;
        return refusal(400, 'TaskAgentPendingUpdateNotFoundException', message);
      }
      agent.update.state = parameter(query, 'currentState') ?? agent.update.state;
      fake.changed();
      return ok(describeAgent(fake, baseUrl, agent, activityOf(fake.state), {}));
    },
  ],
];
