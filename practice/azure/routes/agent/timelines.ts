import { isGuid } from '../../http/arguments.ts';
import { parameter } from '../../http/query.ts';
import { list, ok, refusal, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { appendFeed } from '../../world/job/log.ts';
import { mergeRecords } from '../../world/job/timeline.ts';
import type { FakeRequest, FakeTimeline } from '../../world/state.ts';
import { planRoute } from './plan.ts';

/** Timelines and attachments of one job. */
const maxTimelines = 100;
const maxAttachments = 500;

function missing(id: string): Reply {
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
  const wanted = parameter(query, 'includeRecords')?.toLowerCase() !== 'false';
  return timeline === undefined ? missing(id) : ok(describeTimeline(id, timeline, wanted));
}

/** Workers make one more for what happens within a step. */
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
  if (timeline === undefined) return missing(id);
  const { value } = body;
  const merged = mergeRecords(timeline, Array.isArray(value) ? value : [], new Date(fake.now()));
  fake.changed();
  return list(merged);
}

function feed({ fake, body }: FakeCall, request: FakeRequest, timelineId = '', recordId = ''): Reply {
  if (lookUp(request, timelineId) === undefined) return missing(timelineId);
  const { value, stepId, startLine } = body;
  const lines = (Array.isArray(value) ? value : []).filter((line) => typeof line === 'string');
  const step = typeof stepId === 'string' ? stepId : recordId;
  appendFeed(request, step, lines, typeof startLine === 'number' ? startLine : undefined);
  fake.changed();
  return ok({});
}

function attach({ fake }: FakeCall, request: FakeRequest, ...parts: string[]): Reply {
  const [timelineId = '', recordId = '', type = '', name = ''] = parts.map(decodeURIComponent);
  if (lookUp(request, timelineId) === undefined) return missing(timelineId);
  const made = { timelineId, recordId, type, name, createdOn: new Date(fake.now()).toISOString() };
  if (request.attachments.length < maxAttachments) request.attachments.push(made);
  fake.changed();
  return ok({ ...made, _links: {} });
}

/** What workers and clients read. */
export const timelineReads: readonly Route[] = [
  planRoute('GET', 'timelines', (_call, { timelines }) =>
    list(Object.entries(timelines).map(([id, each]) => describeTimeline(id, each, false))),
  ),
  planRoute('GET', 'timelines/([^/]+)', showTimeline),
  planRoute('GET', 'timelines/([^/]+)/records', (_call, request, id = '') => {
    const timeline = lookUp(request, id);
    return timeline === undefined ? missing(id) : list(timeline.records);
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
