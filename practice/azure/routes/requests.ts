import { badRequest, idsOf, invalidArgument, nameIn, parameter, results } from '../http/arguments.ts';
import { type FakeCall, type Reply, type Route, empty, ok, refusal, textOf } from '../http/reply.ts';
import { type MatchesShown, describeRequest } from '../shapes.ts';
import { activityOf } from '../world/activity.ts';
import { type Fake, rule } from '../world/fake.ts';
import { finish } from '../world/queue.ts';
import type { FakeRequest } from '../world/state.ts';
import { poolMissing, poolOf } from './pools.ts';

const all = /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests$/iu;
const one = /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests\/(\d+)$/iu;

/** Default number of finished requests in a list (read from the server's default). */
const completedByDefault = 50;
const pageByDefault = 100;

function* describeAll(call: FakeCall, requests: readonly FakeRequest[], paged: boolean): Iterable<unknown> {
  const { fake, baseUrl } = call;
  const { online } = activityOf(fake.state);
  const shown: MatchesShown = new Map();
  for (const request of requests) yield describeRequest(fake, baseUrl, request, { paged, online, shown });
}

function wholeList(call: FakeCall, requests: readonly FakeRequest[], paged = false): Reply {
  return { status: 200, items: { count: requests.length, value: describeAll(call, requests, paged) } };
}

/** Returns a page of running, then waiting, then finished requests; the token in the answer's header continues it. */
export function pageOf(call: FakeCall, requests: readonly FakeRequest[]): Reply {
  const top = Number(parameter(call.query, '$top') ?? pageByDefault);
  if (!Number.isInteger(top) || top < 1) return badRequest;
  const page = firstPage(requests, top, parameter(call.query, 'continuationToken'));
  if (page === undefined) return invalidArgument('The continuation token is not valid.', 'continuationToken');
  const reply = wholeList(call, page.requests, true);
  return page.next === undefined ? reply : { ...reply, headers: { 'x-ms-continuationtoken': page.next } };
}

/** `$top` takes precedence, as in the service. */
function find(call: FakeCall, poolId: string): Reply {
  const { fake, query } = call;
  const pool = poolOf(fake, poolId);
  if (pool === undefined) return poolMissing(poolId);
  const ofPool = fake.state.requests.filter(
    (request) => request.poolId === pool.id && !isHidden(fake, request),
  );
  if (parameter(query, '$top') !== undefined || parameter(query, 'continuationToken') !== undefined) {
    return pageOf(call, ofPool);
  }
  const planId = parameter(query, 'planId')?.toLowerCase();
  const jobId = parameter(query, 'jobId')?.toLowerCase();
  if (planId !== undefined) {
    const ofPlan = ofPool.filter(
      (request) => request.planId === planId && (jobId === undefined || request.jobId === jobId),
    );
    return wholeList(call, ofPlan);
  }
  const agents = idsOf(query, 'agentIds') ?? idsOf(query, 'agentId');
  const completed = Number(parameter(query, 'completedRequestCount') ?? completedByDefault);
  if (!Number.isInteger(completed)) return badRequest;
  const desired = ofPool.filter(({ agentId }) => agents === undefined || agents.has(agentId ?? 0));
  const open = desired.filter(({ result }) => result === undefined);
  const done = desired.filter(({ result }) => result !== undefined);
  return wholeList(call, [...open, ...done.slice(completed <= 0 ? Infinity : -completed)]);
}

/** Whether the service keeps a request that no agent matched is not known: it may be in no list. */
function isHidden({ hidesUnmatched }: Fake, { result, agentId }: FakeRequest): boolean {
  return hidesUnmatched && result === 'failed' && agentId === undefined;
}

/** Finds a request of a pool, and calls a function with it. */
function withRequest(
  call: FakeCall,
  poolId: string,
  id: string,
  use: (request: FakeRequest) => Reply,
): Reply {
  const request = call.fake.state.requests.find(({ requestId }) => requestId === Number(id));
  return request?.poolId === Number(poolId)
    ? use(request)
    : refusal(404, 'TaskAgentJobNotFoundException', `No job found with identifier ${id}.`);
}

/** Changes a request: moves it to the front, renews its lock, finishes it. The lock token is not checked. */
function update(call: FakeCall, request: FakeRequest): Reply {
  const { fake, query, body, baseUrl } = call;
  if (parameter(query, 'lockToken') === undefined) return badRequest;
  const options = parameter(query, 'updateOptions')?.toLowerCase();
  if (request.result !== undefined) {
    const message = `The lock of job request ${request.requestId} is not valid any more.`;
    return refusal(400, 'TaskAgentJobTokenExpiredException', message);
  }
  const result = nameIn(results, body['result']);
  if (options === 'bumprequesttotop' || options === '1') {
    request.priority = Math.max(...fake.state.requests.map(({ priority = 0 }) => priority)) + 1;
    fake.state.requests = [request, ...fake.state.requests.filter((each) => each !== request)];
  } else if (result === undefined) {
    request.receiveTime ??= fake.now();
    request.lockedUntil = Date.parse(textOf(body, 'lockedUntil')) || fake.now() + rule(fake, 'lock');
  } else finish(fake, request, result);
  fake.changed();
  return ok(describeRequest(fake, baseUrl, request));
}

export const requestRoutes: readonly Route[] = [
  ['GET', all, (call, poolId = '') => find(call, poolId)],
  [
    'GET',
    one,
    (call, poolId = '', id = '') =>
      withRequest(call, poolId, id, (request) => ok(describeRequest(call.fake, call.baseUrl, request))),
  ],
  [
    'PATCH',
    one,
    (call, poolId = '', id = '') => withRequest(call, poolId, id, (request) => update(call, request)),
  ],
  [
    'DELETE',
    one,
    (call, poolId = '', id = '') =>
      withRequest(call, poolId, id, (request) => {
        const { fake, query } = call;
        if (parameter(query, 'lockToken') === undefined) return badRequest;
        if (request.result === undefined) {
          finish(fake, request, nameIn(results, parameter(query, 'result')) ?? 'canceled');
          fake.changed();
        }
        return empty;
      }),
  ],
];

interface Sorted {
  readonly request: FakeRequest;
  /** The list, then the position in it: larger comes later. */
  readonly place: readonly [part: number, by: number, id: number];
}

/** The service's order: running requests by start, waiting ones by age, finished ones from the newest. */
function sorted(request: FakeRequest): Sorted {
  const { requestId, assignTime = 0, finishTime = 0 } = request;
  if (request.result !== undefined) return { request, place: [2, -finishTime, -requestId] };
  return { request, place: request.agentId === undefined ? [1, 0, requestId] : [0, assignTime, requestId] };
}

function later(a: Sorted['place'], b: Sorted['place']): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** Returns running, waiting, finished requests; undefined: an unknown token. `next` is set if more follow. */
function firstPage(
  requests: readonly FakeRequest[],
  top: number,
  token: string | undefined,
): { readonly requests: readonly FakeRequest[]; readonly next?: string } | undefined {
  const after = token?.split('|').map(Number);
  if (after !== undefined && (after.length !== 3 || after.some(Number.isNaN))) return undefined;
  const [part = -1, by = 0, id = 0] = after ?? [];
  const rest = requests
    .map(sorted)
    .filter(({ place }) => after === undefined || later(place, [part, by, id]) > 0)
    .toSorted((a, b) => later(a.place, b.place));
  const page = rest.slice(0, top);
  const last = rest.length > top ? page.at(-1) : undefined;
  return {
    requests: page.map(({ request }) => request),
    ...(last === undefined ? {} : { next: last.place.join('|') }),
  };
}
