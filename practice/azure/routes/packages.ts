import { parameter } from '../http/arguments.ts';
import { type FakeCall, type Reply, type Route, list, ok, refusal } from '../http/reply.ts';
import { activityOf } from '../world/activity.ts';
import { agentOf, agentsIn } from '../world/agent-index.ts';
import { send } from '../world/messages.ts';
import { type AgentPackage, agentPackages, newestVersion, packageVersion } from '../world/packages.ts';
import { sessionOf } from '../world/scheduler.ts';
import type { FakeAgent } from '../world/state.ts';
import { changeAgent, describeAgent } from './agents.ts';
import { lockedPool, poolMissing, poolOf } from './pools.ts';

/** Returns packages, newest first, of one platform or of all; there are packages of one type. */
function find({ query }: FakeCall, type: string, platform = parameter(query, 'platform')): Reply {
  const top = Number(parameter(query, '$top') ?? Infinity);
  const found = type.toLowerCase() === 'agent' ? agentPackages(platform) : [];
  return list(found.slice(0, top).map((each) => describePackage(each)));
}

function findOne(type: string, platform: string, version: string): Reply {
  const found = agentPackages(platform).find((each) => each.version === version);
  return found === undefined || type.toLowerCase() !== 'agent'
    ? refusal(
        404,
        'PackageNotFoundException',
        `No package ${type} ${version} found for platform ${platform}.`,
      )
    : ok(describePackage(found));
}

/** The same for clients and agents. */
export const packageRoutes: readonly Route[] = [
  ['GET', /^\/_apis\/distributedtask\/packages\/([^/]+)$/iu, (call, type = '') => find(call, type)],
  [
    'GET',
    /^\/_apis\/distributedtask\/packages\/([^/]+)\/([^/]+)$/iu,
    (call, type = '', platform = '') => find(call, type, platform),
  ],
  [
    'GET',
    /^\/_apis\/distributedtask\/packages\/([^/]+)\/([^/]+)\/([^/]+)$/iu,
    (_call, type = '', platform = '', version = '') => findOne(type, platform, version),
  ],
];

/** The URLs of the vendor's archives; the practice server serves none. */
const downloads = 'https://download.agent.dev.azure.com/agent';

function describePackage({ platform, version, createdOn, sha256 }: AgentPackage) {
  const filename = `vsts-agent-${platform}-${version}.${platform.startsWith('win') ? 'zip' : 'tar.gz'}`;
  return {
    type: 'agent',
    platform,
    createdOn,
    version: packageVersion(version),
    downloadUrl: `${downloads}/${version}/${filename}`,
    ...(sha256 === undefined ? {} : { hashValue: sha256 }),
    infoUrl: 'https://go.microsoft.com/fwlink/?LinkId=798199',
    filename,
  };
}

/** How long an agent may take for an update, as .NET writes a time span. */
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

/** Returns all agents of the pool without a pending update. */
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

/** The progress of an update, as the agent or a client reports it. */
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
