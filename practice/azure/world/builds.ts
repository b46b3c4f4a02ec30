import { randomUUID } from 'node:crypto';

import { type Fake, nextId } from './fake.ts';
import { type NewJob, queueJob } from './queue.ts';
import type { FakeBuild, FakeGate, FakeProject, FakeQueue, FakeRequest } from './state.ts';

export interface NewBuild {
  readonly project: FakeProject;
  /** Name of the queue, as in the pipeline. */
  readonly pool: string;
  readonly title: string;
  readonly definitionId: number;
  readonly jobs: readonly Omit<NewJob, 'poolId' | 'project'>[];
  /** Checks of the stage, after the permission, in order. */
  readonly gates: readonly FakeGate[];
}

/** Every job of a YAML pipeline has this demand (users' reports: agent #2996, #4258; KEDA's documentation). */
const versionDemand = 'Agent.Version -gtVersion 2.163.1';

/**
 * Begins a run of a YAML pipeline as the service does: a project without the pool's queue stops it with an error; then it waits
 * for the permission of the queue, and for the checks of its stage. Only after that are its jobs queued.
 */
export function queueBuild(fake: Fake, wanted: NewBuild): FakeBuild {
  const { project, pool, title, definitionId, jobs, gates } = wanted;
  const queue = fake.state.queues.find(
    (each) => each.project === project.id && each.name.toLowerCase() === pool.toLowerCase(),
  );
  const build: FakeBuild = {
    id: nextId(fake),
    project: project.id,
    pool,
    title,
    definitionId,
    queueTime: fake.now(),
    stageId: randomUUID(),
    jobs: jobs.map((job) => ({ ...job, demands: [...job.demands, versionDemand] })),
    gates: [],
    requests: [],
  };
  fake.state.builds.push(build);
  if (queue === undefined) {
    build.error = `Could not find a pool with name ${pool}. The pool does not exist or has not been authorized for use. For authorization details, refer to https://aka.ms/yamlauthz.`;
    return build;
  }
  build.gates = (['Authorization', ...gates] as const).map((kind) => ({ kind, id: randomUUID() }));
  advanceBuild(fake, build);
  return build;
}

/** Passes the checks that are fulfilled, and queues the jobs after the last. Returns whether anything changed. */
export function advanceBuilds(fake: Fake): boolean {
  return fake.state.builds.filter((build) => advanceBuild(fake, build)).length > 0;
}

/** Fulfils the first open check that a person or another service decides. */
export function approve(fake: Fake, build: FakeBuild): void {
  const open = build.gates.find(({ passedAt }) => passedAt === undefined);
  if (open !== undefined && open.kind !== 'Authorization') open.passedAt = fake.now();
  advanceBuild(fake, build);
}

function advanceBuild(fake: Fake, build: FakeBuild): boolean {
  if (build.error !== undefined || build.requests.length > 0) return false;
  const queue = queueOf(fake, build);
  const [first, ...others] = build.gates.filter(({ passedAt }) => passedAt === undefined);
  const isOpen =
    first?.kind === 'Authorization' && queue !== undefined && isPermitted(queue, build.definitionId);
  if (first !== undefined && !isOpen) return false;
  if (first !== undefined) first.passedAt = fake.now();
  if (others.length > 0 || queue === undefined) return isOpen;
  const project = fake.state.projects.find(({ id }) => id === build.project);
  for (const job of build.jobs) {
    const request = queueJob(fake, { ...job, poolId: queue.poolId, project: project?.name ?? build.project });
    request.buildId = build.id;
    build.requests.push(request.requestId);
  }
  return true;
}

function queueOf(fake: Fake, { project, pool }: FakeBuild): FakeQueue | undefined {
  return fake.state.queues.find(
    (each) => each.project === project && each.name.toLowerCase() === pool.toLowerCase(),
  );
}

function isPermitted({ openSince, pipelines }: FakeQueue, definitionId: number): boolean {
  return openSince !== undefined || pipelines.some(({ id }) => id === definitionId);
}

/** Returns the number that the service gives a run: the day and a counter. */
export function buildNumber({ id, queueTime }: FakeBuild): string {
  return `${new Date(queueTime).toISOString().slice(0, 10).replaceAll('-', '')}.${id}`;
}

/** Returns the build of a request. */
export function buildOf(fake: Fake, { buildId }: FakeRequest): FakeBuild | undefined {
  return buildId === undefined ? undefined : fake.state.builds.find(({ id }) => id === buildId);
}
