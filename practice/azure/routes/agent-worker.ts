import { isGuid, nameIn, parameter, results } from '../http/arguments.ts';
import { type FakeCall, type Reply, type Route, empty, list, ok, refusal, textOf } from '../http/reply.ts';
import { nextId } from '../world/fake.ts';
import { appendFeed, appendLog } from '../world/job/log.ts';
import { scopeOf } from '../world/job/message.ts';
import {
  scriptTask,
  scriptTaskArchive,
  scriptTaskDefinition,
  scriptTaskVersionText,
} from '../world/job/script-task.ts';
import { mergeRecords } from '../world/job/timeline.ts';
import { finish } from '../world/queue.ts';
import { sessionOf } from '../world/scheduler.ts';
import type { FakeLog, FakeRequest, FakeTimeline } from '../world/state.ts';

/** The worker's final report of a job. */
function jobEvent({ fake, body, agentId = 0 }: FakeCall, request: FakeRequest): Reply {
  const { name, result, agentShuttingDown } = body;
  // Other events report steps; this server does not wait for them.
  if (name !== 'JobCompleted') return empty;
  if (request.result !== undefined || textOf(body, 'jobId').toLowerCase() !== request.jobId) {
    const message = `No running job in plan ${request.planId}.`;
    return refusal(404, 'TaskAgentJobNotFoundException', message);
  }
  finish(fake, request, nameIn(results, result) ?? 'failed');
  const session = sessionOf(fake, agentId);
  if (session !== undefined && agentShuttingDown === true) session.shuttingDown = true;
  fake.changed();
  return empty;
}

/** Logs of one job: one for each step, and the job's own. */
const maxLogs = 500;

function createLog({ fake, body }: FakeCall, request: FakeRequest): Reply {
  const { path } = body;
  if (typeof path !== 'string' || path === '')
    return refusal(400, 'ArgumentException', 'The log has no path.');
  if (request.logs.length >= maxLogs) return refusal(400, 'ArgumentException', 'The job has too many logs.');
  const createdOn = new Date(fake.now()).toISOString();
  const marks = { createdOn, lastChangedOn: createdOn };
  const log = { id: nextId(fake), path: path.slice(0, 400), lineCount: 0, ...marks, text: '' };
  request.logs.push(log);
  fake.changed();
  return ok(describeLog(log));
}

function noLog(id: string): Reply {
  return refusal(404, 'TaskLogNotFoundException', `No log found for identifier ${id}.`);
}

function uploadLog({ fake, text }: FakeCall, request: FakeRequest, id = ''): Reply {
  const log = request.logs.find((each) => each.id === Number(id));
  if (log === undefined) return noLog(id);
  appendLog(request, log, text);
  log.lastChangedOn = new Date(fake.now()).toISOString();
  fake.changed();
  return ok(describeLog(log));
}

function describeLog({ id, path, lineCount, createdOn, lastChangedOn }: FakeLog): object {
  return { id, path, lineCount, createdOn, lastChangedOn, location: null };
}

/** Returns lines, or text if the Accept header requests it. */
function showLog({ accept }: FakeCall, request: FakeRequest, id = ''): Reply {
  const log = request.logs.find((each) => each.id === Number(id));
  if (log === undefined) return noLog(id);
  if (accept.includes('text/plain')) {
    return { status: 200, content: { type: 'text/plain; charset=utf-8', bytes: log.text } };
  }
  return list(log.text === '' ? [] : log.text.replace(/\n$/u, '').split('\n'));
}

/** Routes that workers and clients read. */
export const planReads: readonly Route[] = [
  planRoute('GET', 'logs', (_call, { logs }) => list(logs.map((each) => describeLog(each)))),
  planRoute('GET', 'logs/(\\d+)', showLog),
];

export const planRoutes: readonly Route[] = [
  planRoute('POST', 'events', jobEvent),
  planRoute('POST', 'logs', createLog),
  planRoute('POST', 'logs/(\\d+)', uploadLog),
];

type PlanHandler = (call: FakeCall, request: FakeRequest, ...parts: string[]) => Reply;

/** A route below a plan: hub and plan in any case; it finds the job of the plan. */
function planRoute(method: string, below: string, handler: PlanHandler): Route {
  const pattern = new RegExp(`^/([^/]+)/_apis/distributedtask/hubs/build/plans/([^/]+)/${below}$`, 'iu');
  return [
    method,
    pattern,
    (call, scope = '', planId = '', ...parts) => {
      const request = call.fake.state.requests.find((each) => isFor(call, each, scope, planId));
      if (request !== undefined) return handler(call, request, ...parts);
      const message = `No plan found for identifier ${planId}.`;
      return refusal(404, 'TaskOrchestrationPlanNotFoundException', message);
    },
  ];
}

/** The token of a job opens its own plan, a client's any. Clients may use the project's name instead of its Guid. */
function isFor(call: FakeCall, job: FakeRequest, scope: string, planId: string): boolean {
  const { fake, requestId, agentId } = call;
  if (requestId === undefined ? agentId !== undefined : job.requestId !== requestId) return false;
  const scopes = [scopeOf(fake, job), encodeURIComponent(job.project)];
  return same(job.planId, planId) && scopes.some((each) => same(each, scope));
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Timelines and attachments of one job. */
const maxTimelines = 100;
const maxAttachments = 500;

function noTimeline(id: string): Reply {
  return refusal(404, 'TimelineNotFoundException', `No timeline found for identifier ${id}.`);
}

function lookUp({ timelines }: FakeRequest, id: string): FakeTimeline | undefined {
  const key = id.toLowerCase();
  return Object.hasOwn(timelines, key) ? timelines[key] : undefined;
}

function describeTimeline(id: string, { changeId, records }: FakeTimeline, withRecords: boolean): object {
  return { id, changeId, location: null, ...(withRecords ? { records } : {}) };
}

function showTimeline({ query }: FakeCall, request: FakeRequest, id = ''): Reply {
  const timeline = lookUp(request, id);
  const desired = parameter(query, 'includeRecords')?.toLowerCase() !== 'false';
  return timeline === undefined ? noTimeline(id) : ok(describeTimeline(id, timeline, desired));
}

/** Workers create another timeline for the events within a step. */
function putTimeline({ fake }: FakeCall, request: FakeRequest, id = ''): Reply {
  if (!isGuid(id)) return refusal(400, 'ArgumentException', 'The id of the timeline is not a Guid.');
  if (Object.keys(request.timelines).length >= maxTimelines) {
    return refusal(400, 'ArgumentException', 'The job has too many timelines.');
  }
  const timeline = (request.timelines[id.toLowerCase()] ??= { changeId: 1, records: [] });
  fake.changed();
  return ok(describeTimeline(id, timeline, true));
}

function patchRecords({ fake, body }: FakeCall, request: FakeRequest, id = ''): Reply {
  const timeline = lookUp(request, id);
  if (timeline === undefined) return noTimeline(id);
  const { value } = body;
  const merged = mergeRecords(timeline, Array.isArray(value) ? value : [], new Date(fake.now()));
  fake.changed();
  return list(merged);
}

function feed({ fake, body }: FakeCall, request: FakeRequest, timelineId = '', recordId = ''): Reply {
  if (lookUp(request, timelineId) === undefined) return noTimeline(timelineId);
  const { value, stepId, startLine } = body;
  const lines = (Array.isArray(value) ? value : []).filter((line) => typeof line === 'string');
  const step = typeof stepId === 'string' ? stepId : recordId;
  appendFeed(request, step, lines, typeof startLine === 'number' ? startLine : undefined);
  fake.changed();
  return ok({});
}

function attach({ fake }: FakeCall, request: FakeRequest, ...parts: string[]): Reply {
  const [timelineId = '', recordId = '', type = '', name = ''] = parts.map(decodeURIComponent);
  if (lookUp(request, timelineId) === undefined) return noTimeline(timelineId);
  const made = { timelineId, recordId, type, name, createdOn: new Date(fake.now()).toISOString() };
  if (request.attachments.length < maxAttachments) request.attachments.push(made);
  fake.changed();
  return ok({ ...made, _links: {} });
}

/** Routes that workers and clients read. */
export const timelineReads: readonly Route[] = [
  planRoute('GET', 'timelines', (_call, { timelines }) =>
    list(Object.entries(timelines).map(([id, each]) => describeTimeline(id, each, false))),
  ),
  planRoute('GET', 'timelines/([^/]+)', showTimeline),
  planRoute('GET', 'timelines/([^/]+)/records', (_call, request, id = '') => {
    const timeline = lookUp(request, id);
    return timeline === undefined ? noTimeline(id) : list(timeline.records);
  }),
  planRoute('GET', 'attachments/([^/]+)', (_call, { attachments }, type = '') =>
    list(attachments.filter((each) => each.type === decodeURIComponent(type))),
  ),
];

export const timelineRoutes: readonly Route[] = [
  planRoute('PUT', 'timelines/([^/]+)', putTimeline),
  planRoute('PATCH', 'timelines/([^/]+)/records', patchRecords),
  planRoute('POST', 'timelines/([^/]+)/records/([^/]+)/feed', feed),
  planRoute('PUT', 'timelines/([^/]+)/records/([^/]+)/attachments/([^/]+)/([^/]+)', attach),
];

function noTask(id: string): Reply {
  return refusal(404, 'TaskDefinitionNotFoundException', `No task definition found matching ID ${id}.`);
}

/** Returns the definition as JSON, or the archive that the agent unpacks and runs, by the Accept header. */
function task({ accept }: FakeCall, id = '', version = ''): Reply {
  if (id.toLowerCase() !== scriptTask.id || version !== scriptTaskVersionText)
    return noTask(`${id} and version ${version}`);
  if (!accept.includes('application/zip')) return ok(scriptTaskDefinition);
  return { status: 200, content: { type: 'application/zip', bytes: scriptTaskArchive() } };
}

/** Tasks that agents download: the one that runs the script of a job. */
export const taskRoutes: readonly Route[] = [
  ['GET', /^\/_apis\/distributedtask\/tasks$/iu, () => list([scriptTaskDefinition])],
  [
    'GET',
    /^\/_apis\/distributedtask\/tasks\/([^/]+)$/iu,
    (_call, id = '') => (id.toLowerCase() === scriptTask.id ? list([scriptTaskDefinition]) : noTask(id)),
  ],
  ['GET', /^\/_apis\/distributedtask\/tasks\/([^/]+)\/([^/]+)$/iu, task],
];
