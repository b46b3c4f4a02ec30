import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

import { FleetError } from '../../../src/shared/base/errors.ts';
import { newTimelines } from './job/timeline.ts';
import { hostedAgent, newPool, newProject } from './new-organization.ts';
import type { FakeAgent, FakePool, FakeProject, FakeRequest, State } from './state.ts';

/** A request as older servers saved it: one text for its log, without timelines. */
type SavedRequest = Partial<FakeRequest> &
  Pick<FakeRequest, 'requestId' | 'jobName' | 'jobId'> & { readonly log?: string };

/**
 * Reads the saved state; undefined without one. Sessions get their full time again: the server was off, not the agents.
 * Throws `azure.fake-state` if the file is not a state.
 */
export function loadState(file: string, now: number): State | undefined {
  if (!existsSync(file)) return undefined;
  const state = filledState(parse(file), now);
  for (const session of state.sessions) session.lastSeen = now;
  state.requests = state.requests.map(upgraded);
  return state;
}

function parse(file: string): State {
  let seen = 'no JSON';
  try {
    const state = JSON.parse(readFileSync(file, 'utf8')) as Partial<State> | null;
    const lists = ['pools', 'agents', 'queues', 'projects', 'sessions', 'requests'] as const;
    const missing = lists.filter((name) => !Array.isArray(state?.[name]));
    if (missing.length === 0) return state as State;
    seen = `JSON without the lists ${missing.join(', ')}`;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new FleetError({
    code: 'azure.fake-state',
    what: `the state file ${file} cannot be read`,
    expected: 'what the practice server saved there',
    seen,
    next: 'name another file with --state-file, or remove this one and start again',
  });
}

/** Adds the members that an older server did not save. */
export function upgraded(request: SavedRequest): FakeRequest {
  if (request.timelines !== undefined) return request as FakeRequest;
  const { log = '', ...rest } = request;
  const timelineId = randomUUID();
  return {
    ...(rest as FakeRequest),
    environment: {},
    secrets: {},
    planVersion: 12,
    timelineId,
    stepId: randomUUID(),
    timelines: newTimelines(timelineId, request.jobId, request.jobName),
    logs: log === '' ? [] : [{ id: 1, path: '', lineCount: log.split('\n').length, text: log }],
    feed: { seen: {}, lines: [] },
    attachments: [],
  };
}

export function saveState(file: string, state: State): void {
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Adds what a file of an earlier version lacks. */
function filledState(state: State, now: number): State {
  const pool = (known: FakePool) => ({ ...newPool(known.id, known.name, now), ...known });
  const project = (known: FakeProject) => ({ ...newProject(known.name, now), ...known });
  const agent = (known: FakeAgent): FakeAgent => {
    const own = { ...hostedAgent(now), provisioningState: 'Provisioned' };
    return { ...own, ...known };
  };
  return {
    ...state,
    collectionId: state.collectionId ?? crypto.randomUUID(),
    operations: state.operations ?? [],
    maintenance: state.maintenance ?? { definitions: [], jobs: [] },
    parallelJobs: state.parallelJobs ?? null,
    builds: state.builds ?? [],
    pools: state.pools.map(pool),
    agents: state.agents.map(agent),
    projects: state.projects.map(project),
    queues: state.queues.map((queue) => ({ ...queue, pipelines: queue.pipelines ?? [] })),
  };
}
