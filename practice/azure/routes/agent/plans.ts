import { nameIn, results } from '../../http/query.ts';
import { empty, list, ok, refusal, textOf, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { nextId } from '../../world/fake.ts';
import { appendLog } from '../../world/job/log.ts';
import { finish } from '../../world/queue.ts';
import { sessionOf } from '../../world/scheduler.ts';
import type { FakeLog, FakeRequest } from '../../world/state.ts';
import { planRoute } from './plan.ts';

/** The worker's last word about a job. */
function jobEvent({ fake, body, agentId = 0 }: FakeCall, request: FakeRequest): Reply {
  const { name, result, agentShuttingDown } = body;
  // Others tell of steps on their way; nothing here waits for them.
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

/** Logs of one job: one a step, and its own. */
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

function missing(id: string): Reply {
  return refusal(404, 'TaskLogNotFoundException', `No log found for identifier ${id}.`);
}

function uploadLog({ fake, text }: FakeCall, request: FakeRequest, id = ''): Reply {
  const log = request.logs.find((each) => each.id === Number(id));
  if (log === undefined) return missing(id);
  appendLog(request, log, text);
  log.lastChangedOn = new Date(fake.now()).toISOString();
  fake.changed();
  return ok(describeLog(log));
}

function describeLog({ id, path, lineCount, createdOn, lastChangedOn }: FakeLog): object {
  return { id, path, lineCount, createdOn, lastChangedOn, location: null };
}

/** Line by line, or as text where the Accept header asks for it. */
function showLog({ accept }: FakeCall, request: FakeRequest, id = ''): Reply {
  const log = request.logs.find((each) => each.id === Number(id));
  if (log === undefined) return missing(id);
  if (accept.includes('text/plain')) {
    return { status: 200, content: { type: 'text/plain; charset=utf-8', bytes: log.text } };
  }
  return list(log.text === '' ? [] : log.text.replace(/\n$/u, '').split('\n'));
}

/** What workers and clients read. */
export const planReads: readonly Route[] = [
  planRoute('GET', 'logs', (_call, { logs }) => list(logs.map((each) => describeLog(each)))),
  planRoute('GET', 'logs/(\\d+)', showLog),
];

export const planRoutes: readonly Route[] = [
  planRoute('POST', 'events', jobEvent),
  planRoute('POST', 'logs', createLog),
  planRoute('POST', 'logs/(\\d+)', uploadLog),
];
