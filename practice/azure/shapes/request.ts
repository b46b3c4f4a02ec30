import type { Fake } from '../world/fake.ts';
import { matchingAgents } from '../world/queue.ts';
import { activityOf } from '../world/activity.ts';
import { agentOf } from '../world/agent-index.ts';
import type { FakeAgent, FakeProject, FakeRequest } from '../world/state.ts';
import { describeAgentReference } from './agent-reference.ts';

const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

/** What the service calls its builds: the owner of every request here (recorded as `serviceOwner`). */
const buildService = '00025394-6065-48ca-87d9-7f5672854ef7';

/** Agents as they were described within one answer, by the pool and the demands that they match. */
export type MatchesShown = Map<string, readonly object[]>;

interface Form {
  /** The form of the paged list: it does not say which agents match. */
  readonly paged?: boolean;
  /** The agents that are online, where the caller knows them. */
  readonly online?: ReadonlySet<number>;
  /** Shared by all requests of one answer: a thousand jobs may wait for the same ten thousand agents. */
  readonly shown?: MatchesShown;
}

/** A job request; without its lock token, which only the agent gets. Undefined members do not appear in the JSON. */
export function describeRequest(fake: Fake, baseUrl: string, request: FakeRequest, form: Form = {}) {
  const agent = request.agentId === undefined ? undefined : agentOf(fake.state, request.agentId);
  const waits = request.result === undefined && agent === undefined;
  const online = form.online ?? activityOf(fake.state).online;
  const refer = (each: FakeAgent) =>
    describeAgentReference(baseUrl, each, online.has(each.id) ? 'online' : 'offline');
  const project = projectOf(fake, request);
  const pages = `${baseUrl}/${encodeURIComponent(project?.name ?? request.project)}/_build`;
  const builds = `${baseUrl}/${project?.id ?? request.project}/_apis/build`;
  const owner = { id: request.requestId, name: String(request.requestId) };
  return {
    requestId: request.requestId,
    queueTime: iso(request.queueTime),
    assignTime: iso(request.assignTime),
    receiveTime: iso(request.receiveTime),
    lockedUntil: iso(request.lockedUntil),
    finishTime: iso(request.finishTime),
    result: request.result,
    serviceOwner: buildService,
    hostId: fake.state.collectionId,
    scopeId: project?.id,
    planType: 'Build',
    planId: request.planId,
    jobId: request.jobId,
    jobName: request.jobName,
    demands: request.demands,
    reservedAgent: agent === undefined ? undefined : refer(agent),
    matchedAgents: waits && form.paged !== true ? matchesOf(fake, request, refer, form.shown) : undefined,
    definition: {
      _links: {
        web: { href: `${pages}/definition?definitionId=1` },
        self: { href: `${builds}/Definitions/1` },
      },
      id: 1,
      name: request.project,
    },
    owner: {
      _links: {
        web: { href: `${pages}/results?buildId=${owner.id}` },
        self: { href: `${builds}/Builds/${owner.id}` },
      },
      ...owner,
    },
    data: { ParallelismTag: 'Private', IsScheduledKey: 'False' },
    poolId: request.poolId,
    queueId: fake.state.queues.find(
      (queue) => queue.poolId === request.poolId && queue.project === project?.id,
    )?.id,
    agentDelays: [],
    orchestrationId: `${request.planId}.build.__default`,
    matchesAllAgentsInPool: request.demands.length === 0,
    priority: request.priority ?? 0,
    userDelayed: false,
    statusMessage: request.statusMessage,
  };
}

function matchesOf(
  fake: Fake,
  request: FakeRequest,
  refer: (agent: FakeAgent) => object,
  shown: MatchesShown = new Map(),
): readonly object[] {
  const key = JSON.stringify([request.poolId, request.demands]);
  const matches = shown.get(key) ?? matchingAgents(fake, request).map((each) => refer(each));
  shown.set(key, matches);
  return matches;
}

function projectOf(fake: Fake, { project }: FakeRequest): FakeProject | undefined {
  const wanted = project.toLowerCase();
  return fake.state.projects.find(({ id, name }) => name.toLowerCase() === wanted || id === wanted);
}
