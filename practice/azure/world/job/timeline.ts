import type { FakeRecord, FakeRequest, FakeTimeline, JobResult } from '../state.ts';

/** Records of one timeline that are kept; a job has one for each step. */
const maxRecords = 500;

/** Creates the job's own record before any agent sees the job: agents look it up. */
export function newTimelines(timelineId: string, jobId: string, name: string): Record<string, FakeTimeline> {
  const record = {
    id: jobId,
    type: 'Job',
    name,
    state: 'pending',
    order: 1,
    errorCount: 0,
    warningCount: 0,
    issues: [],
    identifier: 'Job.__default',
    attempt: 1,
    changeId: 1,
  };
  return { [timelineId]: { changeId: 1, records: [record] } };
}

/**
 * Applies an agent's report of records; null leaves a member unchanged. Returns the records as they are now, in the order of
 * the changes; those without an id are left out.
 */
export function mergeRecords(timeline: FakeTimeline, changes: readonly unknown[], now: Date): FakeRecord[] {
  timeline.changeId += 1;
  return changes.flatMap((change) => {
    const said = Object.entries(Object(change) as object).filter(([, value]) => value !== null);
    const { id } = Object.fromEntries(said) as { id?: unknown };
    if (typeof id !== 'string') return [];
    const at = timeline.records.findIndex((each) => each.id === id);
    if (at === -1 && timeline.records.length >= maxRecords) return [];
    const marks = { id, changeId: timeline.changeId, lastModified: now.toISOString() };
    const merged = { ...timeline.records[at], ...Object.fromEntries(said), ...marks };
    timeline.records.splice(at === -1 ? timeline.records.length : at, 1, merged);
    return [merged];
  });
}

/** Ends the job's own record if only the server can. */
export function endRecord(request: FakeRequest, result: JobResult, now: Date): void {
  const timeline = request.timelines[request.timelineId];
  const own = timeline?.records.find(({ id }) => id === request.jobId);
  if (timeline === undefined || own?.['state'] === 'completed') return;
  const ended = { id: request.jobId, state: 'completed', result, finishTime: now.toISOString() };
  mergeRecords(timeline, [ended], now);
}
