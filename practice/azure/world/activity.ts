import type { FakeRequest, State } from './state.ts';

/** The agents' work by their ids. Gathered in one pass, for lists that would search for each agent. */
export interface Activity {
  readonly online: ReadonlySet<number>;
  readonly assigned: ReadonlyMap<number, FakeRequest>;
  readonly completed: ReadonlyMap<number, FakeRequest>;
}

export function activityOf({ sessions, requests }: State): Activity {
  const assigned = new Map<number, FakeRequest>();
  const completed = new Map<number, FakeRequest>();
  for (const request of requests) {
    if (request.agentId === undefined) continue;
    if (request.result === undefined) assigned.set(request.agentId, request);
    else completed.set(request.agentId, request);
  }
  return { assigned, completed, online: new Set(sessions.map(({ agentId }) => agentId)) };
}
