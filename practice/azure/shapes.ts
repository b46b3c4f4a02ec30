import { activityOf } from './world/activity.ts';
import { agentOf } from './world/agent-index.ts';
import { buildNumber, buildOf } from './world/builds.ts';
import type { Fake } from './world/fake.ts';
import type { FakeIdentity } from './world/identities.ts';
import { matchingAgents } from './world/queue.ts';
import type { FakeAgent, FakeProject, FakeRequest, Properties } from './world/state.ts';

const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

/** The name that the service gives its builds: the owner of every request here (recorded as `serviceOwner`). */
const buildService = '00025394-6065-48ca-87d9-7f5672854ef7';

/** Agents as described within one answer, by the pool and the demands that they match. */
export type MatchesShown = Map<string, readonly object[]>;

interface Form {
  /** The form of the paged list, which omits the matching agents. */
  readonly paged?: boolean;
  /** The online agents, if the caller knows them. */
  readonly online?: ReadonlySet<number>;
  /** Shared by all requests of one answer: a thousand jobs may match the same ten thousand agents. */
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
  const build = buildOf(fake, request);
  const ownId = build?.id ?? request.requestId;
  const owner = { id: ownId, name: build === undefined ? String(ownId) : buildNumber(build) };
  const definitionId = build?.definitionId ?? 1;
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
        web: { href: `${pages}/definition?definitionId=${definitionId}` },
        self: { href: `${builds}/Definitions/${definitionId}` },
      },
      id: definitionId,
      name: build?.title ?? request.project,
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
  const desired = project.toLowerCase();
  return fake.state.projects.find(({ id, name }) => name.toLowerCase() === desired || id === desired);
}

/** Returns an agent as job requests name theirs. The service omits what it does not know. */
export function describeAgentReference(baseUrl: string, agent: FakeAgent, status: 'online' | 'offline') {
  const { id, poolId, name, version, osDescription, enabled, provisioningState } = agent;
  return {
    _links: {
      self: { href: `${baseUrl}/_apis/distributedtask/pools/${poolId}/agents/${id}` },
      web: { href: `${baseUrl}/_settings/agentpools?view=jobs&poolId=${poolId}&agentId=${id}` },
    },
    id,
    name,
    version,
    ...(osDescription === '' ? {} : { osDescription }),
    enabled,
    status,
    provisioningState,
    // The service's name for the public address; recorded with every self-hosted agent.
    ...(provisioningState === 'Provisioned' ? { accessPoint: 'CodexAccessMapping' } : {}),
  };
}

/** Returns a reference to a user, with the recorded members. */
export function describeIdentity(baseUrl: string, who: FakeIdentity) {
  const avatar = `${baseUrl}/_apis/GraphProfile/MemberAvatars/${who.descriptor}`;
  return {
    displayName: who.displayName,
    url: `${baseUrl}/_apis/Identities/${who.id}`,
    _links: { avatar: { href: avatar } },
    id: who.id,
    uniqueName: who.uniqueName,
    imageUrl: avatar,
    descriptor: who.descriptor,
  };
}

/** Returns `{properties}` that match the filters (`*` matches anything); nothing without a filter. */
export function chosenProperties(
  properties: Properties,
  filters: readonly string[] | undefined,
): { properties?: Properties } {
  if (filters === undefined) return {};
  const chosen = Object.entries(properties).filter(([name]) => filters.some((filter) => fits(filter, name)));
  return { properties: Object.fromEntries(chosen) };
}

function fits(filter: string, name: string): boolean {
  const [head = '', ...rest] = filter.toLowerCase().split('*');
  let at = head.length;
  const text = name.toLowerCase();
  if (!text.startsWith(head)) return false;
  for (const [index, part] of rest.entries()) {
    if (index === rest.length - 1)
      return part === '' || (text.endsWith(part) && text.length - part.length >= at);
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at === text.length;
}

/** Parses properties of a body: `{$type, $value}`, or the bare value. */
export function propertiesOf(body: unknown): Properties {
  return Object.fromEntries(
    Object.entries(Object(body) as Record<string, unknown>).map(([name, given]) => {
      const { $type, $value } = Object(given) as { $type?: string; $value?: unknown };
      if (typeof $type === 'string') return [name, { $type, $value }];
      return [name, { $type: typeNameOf(given), $value: given }];
    }),
  );
}

function typeNameOf(value: unknown): string {
  if (typeof value === 'boolean') return 'System.Boolean';
  return typeof value === 'number' ? 'System.Int32' : 'System.String';
}
