import { randomUUID } from 'node:crypto';

import { agentsIn } from './agent-index.ts';
import { type Fake, nextId } from './fake.ts';
import { endRecord, newTimelines } from './job/timeline.ts';
import type { FakeAgent, FakeRequest, JobContainer, JobResult, State } from './state.ts';

export interface NewJob {
  readonly poolId: number;
  readonly project: string;
  readonly name: string;
  readonly demands: readonly string[];
  readonly script: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly container?: JobContainer;
  readonly planVersion?: number;
}

/** From plan version 8 on the worker reports the end of its job by an event; below it, the listener reports it by the request. */
const usualPlanVersion = 12;

/** Demands are matched once, against all registered agents: with none the job fails, with offline ones it waits. */
export function queueJob(fake: Fake, job: NewJob): FakeRequest {
  const jobId = randomUUID();
  const timelineId = randomUUID();
  const request: FakeRequest = {
    requestId: nextId(fake),
    poolId: job.poolId,
    jobName: job.name,
    project: job.project,
    demands: [...job.demands],
    script: job.script,
    environment: { ...job.environment },
    secrets: { ...job.secrets },
    ...(job.container === undefined ? {} : { container: job.container }),
    planVersion: job.planVersion ?? usualPlanVersion,
    jobId,
    planId: randomUUID(),
    timelineId,
    stepId: randomUUID(),
    lockToken: randomUUID(),
    queueTime: fake.now(),
    timelines: newTimelines(timelineId, jobId, job.name),
    logs: [],
    feed: { seen: {}, lines: [] },
    attachments: [],
    runs: [],
  };
  fake.state.requests.push(request);
  if (!agentsIn(fake.state, job.poolId).some((agent) => meets(agent, job.demands))) {
    const pool = fake.state.pools.find(({ id }) => id === job.poolId);
    finish(fake, request, 'failed');
    request.statusMessage = `No agent found in pool ${pool?.name} which satisfies the specified demands: ${job.demands.join(', ')}`;
  }
  return request;
}

export function matchingAgents(fake: Fake, request: FakeRequest): readonly FakeAgent[] {
  return agentsIn(fake.state, request.poolId).filter((agent) => meets(agent, request.demands));
}

export function matches(agent: FakeAgent, request: FakeRequest): boolean {
  return agent.poolId === request.poolId && meets(agent, request.demands);
}

function meets(agent: FakeAgent, demands: readonly string[]): boolean {
  // Most jobs demand nothing, and pools are large: capabilities are merged for the others only.
  if (demands.length === 0) return true;
  return satisfies([agent.userCapabilities, agent.systemCapabilities], demands);
}

export function assignedRequest(fake: Fake, agentId: number): FakeRequest | undefined {
  return fake.state.requests.find((request) => request.agentId === agentId && request.result === undefined);
}

export function finish(fake: Fake, request: FakeRequest, result: JobResult): void {
  request.result = result;
  request.finishTime = fake.now();
  endRecord(request, result, new Date(fake.now()));
}

type Named = Readonly<Record<string, string>>;

/**
 * Parses demands of a pipeline: `name`, `name -equals value`, `name -gtVersion 1.2.3`. Names ignore case; of
 * capabilities in several places the first that has a name counts.
 */
export function satisfies(capabilities: readonly Named[], demands: readonly string[]): boolean {
  return demands.every((demand) => {
    const [, name = '', operator, desired = ''] = /^(\S+)(?:\s+-(\w+)\s+(.*))?$/u.exec(demand.trim()) ?? [];
    const value = valueIn(capabilities, name);
    if (value === undefined) return false;
    if (operator?.toLowerCase() === 'equals') return value.toLowerCase() === desired.toLowerCase();
    if (operator?.toLowerCase() === 'gtversion') return compareVersions(value, desired) >= 0;
    return operator === undefined;
  });
}

/** Looks the name up first in the given case: pools are large, and that is nearly always the right one. */
function valueIn(capabilities: readonly Named[], name: string): string | undefined {
  for (const named of capabilities) {
    const desired = name.toLowerCase();
    const value = named[name] ?? Object.entries(named).find(([each]) => each.toLowerCase() === desired)?.[1];
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Despite its name, `-gtVersion` also accepts the same version. */
function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns the jobs that count against the permitted number: assigned to a self-hosted agent, and not finished. */
export function runningJobs({ requests, pools }: State): readonly FakeRequest[] {
  const hosted = new Set(pools.filter(({ isHosted }) => isHosted).map(({ id }) => id));
  return requests.filter(
    ({ agentId, result, poolId }) => agentId !== undefined && result === undefined && !hosted.has(poolId),
  );
}

/** Returns how many more jobs may be assigned now. */
export function permittedJobs(state: State): number {
  return state.parallelJobs === null ? Infinity : state.parallelJobs - runningJobs(state).length;
}
