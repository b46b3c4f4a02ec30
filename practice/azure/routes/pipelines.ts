import { type FakeCall, type Reply, type Route, accessDenied, list, ok, refusal } from '../http/reply.ts';
import type { Fake, FakePipeline } from '../world/fake.ts';
import { queueJob } from '../world/queue.ts';
import type { FakeProject, FakeQueue, FakeRequest } from '../world/state.ts';
import { findProject, projectMissing } from './projects.ts';
import { describePermissions, queueOf } from './queues.ts';

/** Pipelines have one job here, and the number of a run is the job's: `queueJob` creates it as for every caller. */
function pipelineOf(fake: Fake, name: string, id: string): [FakeProject, FakePipeline] | Reply {
  const project = findProject(fake, name);
  if (project === undefined) return projectMissing(name);
  const pipeline = fake.pipelines.get(Number(id));
  // The exact text is not verified.
  return pipeline === undefined || pipeline.project !== project.name
    ? refusal(404, 'PipelineNotFoundException', `Pipeline ${id} was not found.`)
    : [project, pipeline];
}

/** Returns the service's state: "completed" with a result; "unknown" never happens here. */
function describeRun(baseUrl: string, project: FakeProject, pipelineId: number, request: FakeRequest) {
  const self = `${baseUrl}/${project.id}/_apis/pipelines/${pipelineId}`;
  const web = `${baseUrl}/${project.id}/_build/results?buildId=${request.requestId}`;
  const { result, finishTime } = request;
  return {
    _links: {
      self: { href: `${self}/runs/${request.requestId}` },
      web: { href: web },
      pipeline: { href: `${self}?revision=1` },
    },
    pipeline: { url: `${self}?revision=1`, id: pipelineId, revision: 1, name: request.jobName, folder: '\\' },
    state: result === undefined ? 'inProgress' : 'completed',
    ...(result === undefined ? {} : { result: result === 'abandoned' ? 'failed' : result }),
    createdDate: new Date(request.queueTime).toISOString(),
    ...(finishTime === undefined ? {} : { finishedDate: new Date(finishTime).toISOString() }),
    url: `${self}/runs/${request.requestId}`,
    id: request.requestId,
    name: String(request.requestId),
  };
}

function run({ fake, baseUrl }: FakeCall, name: string, id: string): Reply {
  const found = pipelineOf(fake, name, id);
  if (!Array.isArray(found)) return found;
  const [project, { poolId, title }] = found;
  const request = queueJob(fake, {
    poolId,
    project: project.name,
    name: title,
    demands: [],
    script: 'nvidia-smi',
  });
  fake.changed();
  return ok(describeRun(baseUrl, project, Number(id), request));
}

function readRun({ fake, baseUrl }: FakeCall, name: string, id: string, runId: string): Reply {
  const found = pipelineOf(fake, name, id);
  if (!Array.isArray(found)) return found;
  const [project] = found;
  const request = fake.state.requests.find(
    ({ requestId, project: of }) => requestId === Number(runId) && of === project.name,
  );
  return request === undefined
    ? refusal(404, 'BuildNotFoundException', `The requested build ${runId} could not be found.`)
    : ok(describeRun(baseUrl, project, Number(id), request));
}

export const pipelineRoutes: readonly Route[] = [
  ['POST', /^\/([^/]+)\/_apis\/pipelines\/(\d+)\/runs$/iu, (call, name = '', id = '') => run(call, name, id)],
  [
    'GET',
    /^\/([^/]+)\/_apis\/pipelines\/(\d+)\/runs\/(\d+)$/iu,
    (call, name = '', id = '', runId = '') => readRun(call, name, id, runId),
  ],
];

/** The changes of a PATCH: all pipelines, and each named one. */
function permit({ fake }: FakeCall, queue: FakeQueue, body: unknown): void {
  const { allPipelines, pipelines } = Object(body) as {
    allPipelines?: { authorized?: unknown } | null;
    pipelines?: unknown;
  };
  const now = new Date(fake.now()).toISOString();
  if (allPipelines?.authorized === true) queue.openSince ??= now;
  if (allPipelines?.authorized === false) delete queue.openSince;
  for (const each of Array.isArray(pipelines) ? pipelines : []) {
    const { id, authorized } = Object(each) as { id?: unknown; authorized?: unknown };
    if (typeof id !== 'number') continue;
    const known = queue.pipelines.some((other) => other.id === id);
    if (authorized === true && !known) queue.pipelines.push({ id, authorizedOn: now });
    if (authorized === false) queue.pipelines = queue.pipelines.filter((other) => other.id !== id);
  }
}

function change(call: FakeCall, project: string, id: string, body: unknown): Reply {
  const { fake, baseUrl } = call;
  const queue = queueOf(fake, project, id);
  if ('status' in queue) return queue;
  if (fake.denied.has('queues.authorize')) {
    return accessDenied('Administer permissions for the agent queue');
  }
  permit(call, queue, body);
  fake.changed();
  return ok(describePermissions(baseUrl, queue));
}

/** Ids are text here; some clients send numbers. */
const idOf = ({ id }: { readonly id?: unknown }): string =>
  typeof id === 'string' || typeof id === 'number' ? String(id) : '';

const one = /^\/([^/]+)\/_apis\/pipelines\/pipelinepermissions\/queue\/(\d+)$/iu;

export const permissionRoutes: readonly Route[] = [
  [
    'GET',
    one,
    ({ fake, baseUrl }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      return 'status' in found ? found : ok(describePermissions(baseUrl, found));
    },
  ],
  ['PATCH', one, (call, name = '', id = '') => change(call, name, id, call.body)],
  [
    'PATCH',
    /^\/([^/]+)\/_apis\/pipelines\/pipelinepermissions$/iu,
    (call, name = '') => {
      const desired = Object.values(call.body).filter((each) => {
        const { resource } = Object(each) as { resource?: { type?: string } };
        return resource?.type === 'queue';
      }) as { resource: { id?: unknown } }[];
      const replies = desired.map((each) => change(call, name, idOf(each.resource), each));
      return replies.find(({ status }) => status !== 200) ?? list(replies.map(({ json }) => json));
    },
  ],
];
