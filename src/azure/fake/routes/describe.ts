import type { Fake } from '../world/fake.ts';
import { assignedRequest, matchingAgents } from '../world/queue.ts';
import { sessionOf } from '../world/scheduler.ts';
import type { FakeAgent, FakeRequest } from '../world/state.ts';

const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

/** An agent as the service shows it. Members that are undefined do not appear in the JSON. */
export function describeAgent(fake: Fake, agent: FakeAgent, include: URLSearchParams, registered = false) {
  const wants = (name: string) => include.get(name) === 'true';
  const last = fake.state.requests.findLast(
    ({ agentId, result }) => agentId === agent.id && result !== undefined,
  );
  const assigned = assignedRequest(fake, agent.id);
  return {
    id: agent.id,
    name: agent.name,
    version: agent.version,
    osDescription: agent.osDescription,
    enabled: agent.enabled,
    status: sessionOf(fake, agent.id) === undefined ? 'offline' : 'online',
    provisioningState: 'Provisioned',
    maxParallelism: 1,
    createdOn: agent.createdOn,
    authorization: {
      clientId: agent.clientId,
      ...(registered
        ? { authorizationUrl: `${agent.baseUrl}/_apis/oauth2/token`, publicKey: agent.publicKey }
        : {}),
    },
    ...(registered
      ? { properties: { ServerUrl: { $type: 'System.String', $value: `${agent.baseUrl}/` } } }
      : {}),
    pendingUpdate: agent.updateRequested
      ? { currentState: 'Requested', reason: { code: 'manual' } }
      : undefined,
    ...(wants('includeCapabilities')
      ? { systemCapabilities: agent.systemCapabilities, userCapabilities: agent.userCapabilities }
      : {}),
    ...(wants('includeAssignedRequest') && assigned !== undefined
      ? { assignedRequest: describeRequest(fake, assigned) }
      : {}),
    ...(wants('includeLastCompletedRequest') && last !== undefined
      ? { lastCompletedRequest: describeRequest(fake, last) }
      : {}),
  };
}

/** A job request; without its lock token, which only the agent gets. */
export function describeRequest(fake: Fake, request: FakeRequest) {
  const agent = fake.state.agents.find(({ id }) => id === request.agentId);
  const matched = request.result === undefined && agent === undefined ? matchingAgents(fake, request) : [];
  const web = `${agent?.baseUrl ?? ''}/${request.project}/_build/results?buildId=${request.requestId}`;
  return {
    requestId: request.requestId,
    poolId: request.poolId,
    jobId: request.jobId,
    planId: request.planId,
    planType: 'Build',
    jobName: request.jobName,
    demands: request.demands,
    queueTime: iso(request.queueTime),
    assignTime: iso(request.assignTime),
    receiveTime: iso(request.receiveTime),
    lockedUntil: iso(request.lockedUntil),
    finishTime: iso(request.finishTime),
    result: request.result,
    statusMessage: request.statusMessage,
    reservedAgent:
      agent === undefined
        ? undefined
        : { id: agent.id, name: agent.name, version: agent.version, enabled: agent.enabled },
    matchedAgents:
      matched.length === 0 ? undefined : matched.map(({ id, name, enabled }) => ({ id, name, enabled })),
    owner: { id: request.requestId, name: `${request.requestId}`, _links: { web: { href: web } } },
    definition: { id: 1, name: request.project },
    priority: 0,
  };
}
