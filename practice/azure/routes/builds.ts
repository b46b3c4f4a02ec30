import { type FakeCall, type Reply, type Route, ok, refusal } from '../http/reply.ts';
import { describeIdentity } from '../shapes.ts';
import { buildNumber } from '../world/builds.ts';
import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import type { FakeBuild, FakeProject, FakeRequest } from '../world/state.ts';
import { findProject, projectMissing } from './projects.ts';

/** A build with its jobs. A job that was queued alone is a build of its own, with its number. */
interface Seen {
  readonly project: FakeProject;
  readonly id: number;
  readonly title: string;
  readonly definitionId: number;
  readonly queueTime: number;
  readonly requests: readonly FakeRequest[];
  readonly build?: FakeBuild;
}

function find(fake: Fake, name: string, id: string): Seen | Reply {
  const project = findProject(fake, name);
  if (project === undefined) return projectMissing(name);
  const build = fake.state.builds.find((each) => each.id === Number(id) && each.project === project.id);
  if (build !== undefined) {
    const requests = fake.state.requests.filter(({ requestId }) => build.requests.includes(requestId));
    return { ...build, project, requests, build };
  }
  const alone = fake.state.requests.find(
    ({ requestId, buildId, project: of }) =>
      requestId === Number(id) && buildId === undefined && of.toLowerCase() === project.name.toLowerCase(),
  );
  if (alone === undefined)
    return refusal(
      404,
      'BuildNotFoundException',
      `The requested build ${id} could not be found.`,
      'Microsoft.TeamFoundation.Build.WebServer',
    );
  const { requestId, queueTime } = alone;
  return { project, id: requestId, title: project.name, definitionId: 1, queueTime, requests: [alone] };
}

const iso = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());

interface Outcome {
  readonly result?: string;
  readonly finishTime?: number;
}

/** The service's names of results, from the worst job's. */
const outcomes = [
  ['abandoned', 'failed'],
  ['failed', 'failed'],
  ['canceled', 'canceled'],
  ['succeededWithIssues', 'partiallySucceeded'],
] as const;

function outcomeOf({ build, requests }: Seen): Outcome {
  if (build?.error !== undefined) return { result: 'failed', finishTime: build.queueTime };
  if (requests.length === 0 || requests.some(({ result }) => result === undefined)) return {};
  const [, result = 'succeeded'] =
    outcomes.find(([name]) => requests.some((each) => each.result === name)) ?? [];
  return { result, finishTime: Math.max(...requests.map((each) => each.finishTime ?? 0)) };
}

/** A run whose first check is open has not started. */
function statusOf({ build }: Seen, { result }: Outcome): string {
  if (result !== undefined) return 'completed';
  return build?.gates[0]?.passedAt === undefined && build !== undefined ? 'notStarted' : 'inProgress';
}

function describeBuild({ baseUrl }: FakeCall, seen: Seen) {
  const { project, id, title, definitionId, queueTime, requests, build } = seen;
  const outcome = outcomeOf(seen);
  const { result, finishTime } = outcome;
  const started = requests.flatMap(({ receiveTime }) => receiveTime ?? []);
  const url = `${baseUrl}/${project.id}/_apis/build/Builds/${id}`;
  return {
    _links: {
      self: { href: url },
      web: { href: `${baseUrl}/${project.id}/_build/results?buildId=${id}` },
      timeline: { href: `${url}/Timeline` },
    },
    properties: {},
    tags: [],
    validationResults: build?.error === undefined ? [] : [{ result: 'error', message: build.error }],
    plans: requests.slice(0, 1).map(({ planId }) => ({ planId })),
    triggerInfo: {},
    id,
    buildNumber: build === undefined ? String(id) : buildNumber(build),
    status: statusOf(seen, outcome),
    ...(result === undefined ? {} : { result }),
    queueTime: iso(queueTime),
    ...(started.length === 0 ? {} : { startTime: iso(Math.min(...started)) }),
    ...(finishTime === undefined ? {} : { finishTime: iso(finishTime) }),
    url,
    definition: {
      drafts: [],
      id: definitionId,
      name: title,
      url: `${baseUrl}/${project.id}/_apis/build/Definitions/${definitionId}?revision=1`,
      path: '\\',
      type: 'build',
      queueStatus: 'enabled',
      revision: 1,
    },
    project: { id: project.id, name: project.name, url: `${baseUrl}/_apis/projects/${project.id}` },
    uri: `vstfs:///Build/Build/${id}`,
    sourceBranch: 'refs/heads/main',
    priority: 'normal',
    reason: 'manual',
    requestedFor: describeIdentity(baseUrl, admin),
    requestedBy: describeIdentity(baseUrl, admin),
    retainedByRelease: false,
    triggeredByBuild: null,
  };
}

/** The service sends null where a record has no value, as elsewhere (recorded for pools and queues). */
const emptyRecord = {
  previousAttempts: [],
  parentId: null,
  startTime: null,
  finishTime: null,
  currentOperation: null,
  percentComplete: null,
  result: null,
  resultCode: null,
  changeId: 1,
  workerName: null,
  details: null,
  errorCount: 0,
  warningCount: 0,
  url: null,
  log: null,
  task: null,
  attempt: 1,
  identifier: null,
};

function records(seen: Seen): readonly object[] {
  const { build, requests } = seen;
  if (build === undefined) return requests.map((each) => jobRecord(each));
  const { stageId, gates } = build;
  const open = gates.find(({ passedAt }) => passedAt === undefined);
  const { result, finishTime } = outcomeOf(seen);
  const done = (isDone: boolean) =>
    isDone ? { state: 'completed', result: 'succeeded' } : { state: 'inProgress', result: null };
  const stage = {
    ...emptyRecord,
    id: stageId,
    type: 'Stage',
    name: '__default',
    order: 1,
    state: result === undefined ? (open === undefined ? 'inProgress' : 'pending') : 'completed',
    result: result ?? null,
    finishTime: iso(finishTime),
  };
  const checkpoint = {
    ...emptyRecord,
    ...done(open === undefined),
    id: `${stageId.slice(0, -4)}c0de`,
    parentId: stageId,
  };
  // A check appears when those before it are fulfilled.
  const checks = gates
    .filter((gate) => gate === open || gate.passedAt !== undefined)
    .map(({ kind, id, passedAt }) => ({
      ...emptyRecord,
      ...done(passedAt !== undefined),
      id,
      parentId: checkpoint.id,
      type: `Checkpoint.${kind}`,
      name: `Checkpoint.${kind}`,
      startTime: iso(build.queueTime),
      finishTime: iso(passedAt),
    }));
  const jobs = requests.map((each) => jobRecord(each, stageId));
  return [stage, { ...checkpoint, type: 'Checkpoint', name: 'Checkpoint' }, ...checks, ...jobs];
}

function jobRecord(request: FakeRequest, parentId: string | null = null): object {
  const own = request.timelines[request.timelineId]?.records.find(({ id }) => id === request.jobId);
  const { statusMessage } = request;
  const issues =
    statusMessage === undefined
      ? []
      : [{ type: 'error', category: 'General', message: statusMessage, data: { type: 'error' } }];
  return { ...emptyRecord, ...own, parentId, issues, errorCount: issues.length };
}

const one = /^\/([^/]+)\/_apis\/build\/builds\/(\d+)$/iu;
const timeline = /^\/([^/]+)\/_apis\/build\/builds\/(\d+)\/timeline$/iu;

export const buildRoutes: readonly Route[] = [
  [
    'GET',
    one,
    (call, name = '', id = '') => {
      const found = find(call.fake, name, id);
      return 'status' in found ? found : ok(describeBuild(call, found));
    },
  ],
  [
    'GET',
    timeline,
    (call, name = '', id = '') => {
      const found = find(call.fake, name, id);
      if ('status' in found) return found;
      const { baseUrl } = call;
      const url = `${baseUrl}/${found.project.id}/_apis/build/Builds/${found.id}/Timeline`;
      // A build that an error stopped never had one.
      if (found.build?.error !== undefined) return { status: 204 };
      const [first] = found.requests;
      return ok({
        records: records(found),
        lastChangedBy: admin.id,
        lastChangedOn: iso(call.fake.now()),
        id: first?.timelineId ?? found.build?.stageId,
        changeId: 1,
        url,
      });
    },
  ],
];
