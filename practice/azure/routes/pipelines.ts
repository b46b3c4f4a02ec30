import { ok, refusal, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import type { Fake, FakePipeline } from '../world/fake.ts';
import { queueJob } from '../world/queue.ts';
import type { FakeProject, FakeRequest } from '../world/state.ts';
import { findProject, projectMissing } from './projects.ts';

/** Pipelines have one job here, and the number of a run is the job's: what runs is made by `queueJob` as for anybody. */
function pipelineOf(fake: Fake, name: string, id: string): [FakeProject, FakePipeline] | Reply {
  const project = findProject(fake, name);
  if (project === undefined) return projectMissing(name);
  const pipeline = fake.pipelines.get(Number(id));
  // The exact words are not verified.
  return pipeline === undefined || pipeline.project !== project.name
    ? refusal(404, 'PipelineNotFoundException', `Pipeline ${id} was not found.`)
    : [project, pipeline];
}

/** The service says "completed" of what has a result, and "unknown" of nothing that we do. */
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
