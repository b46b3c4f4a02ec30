import type { Build, Permitted, TimelineRecord } from '../../shared/azure/builds.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { quote } from '../../shared/base/shell.ts';
import { minuteOf } from '../../shared/contract/drain.ts';
import { noAgentFound } from './demands.ts';
import type { Cause } from './report.ts';

/** Whether a project may use a pool. */
export interface PoolRight {
  readonly pool: string;
  readonly project: string;
  /** Value undefined: the project does not have the pool. */
  readonly permitted: Answered<Permitted | undefined>;
}

/** What was read of a build beside its jobs. */
export interface BuildSeen {
  /** Value undefined: no project has it, or the token's user may not see it. */
  readonly build: Answered<Build | undefined>;
  readonly timeline: Answered<readonly TimelineRecord[]>;
  /** Number of its pipeline; undefined: unknown. */
  readonly pipeline?: number;
  readonly rights: readonly PoolRight[];
  /** The build has a job in the queue of a pool. */
  readonly hasJobs: boolean;
}

/** Returns why a build has no job in a queue yet, or never will. Pure. */
export function buildCauses(seen: BuildSeen): readonly Cause[] {
  const { build, timeline, hasJobs } = seen;
  const known = build.kind === 'value' ? build.value : undefined;
  const records = timeline.kind === 'value' ? timeline.value : [];
  const causes = [...errorsOf(seen, known, records), ...checkpoints(seen, records)];
  if (causes.length > 0 || hasJobs) return causes;
  if (known === undefined) return possible(seen);
  if (known.status === 'completed' || timeline.kind === 'unknown') return [];
  return [
    {
      code: 'waiting.not-queued',
      what: 'no job of the run waits for an agent of these pools',
      next: 'open the run in the browser: an earlier stage runs, or its jobs use other agents',
    },
  ];
}

const poolError =
  /Could not find a pool with (?:name|id) (.+?)\. The pool does not exist or has not been authorized for use/u;

function errorsOf(
  seen: BuildSeen,
  build: Build | undefined,
  records: readonly TimelineRecord[],
): readonly Cause[] {
  const messages = [...new Set([...(build?.errors ?? []), ...records.flatMap(({ errors }) => errors)])];
  const ofPools = messages.flatMap((message) => {
    const [, pool] = poolError.exec(message) ?? [];
    return pool === undefined ? [] : [missingPool(pool.replaceAll(/^['"]|['"]$/gu, ''), seen)];
  });
  const others = (build?.errors ?? []).filter(
    (message) => !poolError.test(message) && noAgentFound(message) === undefined,
  );
  return [
    ...ofPools,
    ...others.map((message): Cause => ({
      code: 'waiting.pipeline-error',
      what: `the pipeline has an error: ${message}`,
      next: 'correct the pipeline, then run it again',
    })),
  ];
}

/** Azure DevOps says the same of a pool that the project lacks and of one that it may not use. */
function missingPool(pool: string, seen: BuildSeen): Cause {
  const right = seen.rights.find((each) => each.pool.toLowerCase() === pool.toLowerCase());
  if (right === undefined || right.permitted.kind === 'unknown')
    return {
      code: 'waiting.no-queue',
      what: `the project does not have pool ${pool}, or the pipeline is not permitted to use it`,
      next: `correct the pool in the pipeline, or run: azp-fleet pool authorize ${quote(pool)} --project ${quote(right?.project ?? 'PROJECT')}`,
    };
  if (right.permitted.value === undefined) return noQueue(right);
  return notPermitted(right);
}

function authorize({ pool, project }: PoolRight, all: readonly PoolRight[] = []): string {
  const pools = all.length === 0 ? [pool] : all.map((right) => right.pool);
  return `run: azp-fleet pool authorize ${pools.map(quote).join(' ')} --project ${quote(project)}`;
}

function noQueue(right: PoolRight): Cause {
  return {
    code: 'waiting.no-queue',
    what: `project ${right.project} does not have pool ${right.pool}`,
    next: `${authorize(right)}   # then run the pipeline again`,
  };
}

function notPermitted(right: PoolRight): Cause {
  return {
    code: 'waiting.not-permitted',
    what: `the pipeline is not permitted to use pool ${right.pool} in project ${right.project}`,
    next: `${authorize(right)}   # or press Permit on the page of the run`,
  };
}

/** Tells whether a pool may be used by the pipeline; undefined: unknown. */
function mayUse({ permitted }: PoolRight, pipeline: number | undefined): boolean | undefined {
  if (permitted.kind === 'unknown') return undefined;
  if (permitted.value === undefined) return false;
  const { every, pipelines } = permitted.value;
  if (every) return true;
  return pipeline === undefined ? undefined : pipelines.includes(pipeline);
}

function checkpoints(seen: BuildSeen, records: readonly TimelineRecord[]): readonly Cause[] {
  const open = records.filter(
    ({ type, state }) => type?.startsWith('Checkpoint.') === true && state !== 'completed',
  );
  return open.flatMap((record): readonly Cause[] => {
    const stage = stageOf(record, records);
    const since = minuteOf(record.startTime ?? '');
    const at = since === undefined ? '' : ` since ${since}`;
    if (record.type === 'Checkpoint.Authorization')
      return [unauthorized(seen, `${stage} waits for a permission${at}`)];
    if (record.type === 'Checkpoint.Approval')
      return [
        {
          code: 'waiting.approval',
          what: `${stage} waits for an approval${at}`,
          next: 'have an approver approve it on the page of the run',
        },
      ];
    const [, kind = ''] = (record.type ?? '').split('.');
    const named = record.name === undefined || record.name === record.type ? kind : record.name;
    return [
      {
        code: 'waiting.check',
        what: `${stage} waits for a check${at}: ${named}`,
        next: 'open the run in the browser: it names the check and the resource',
      },
    ];
  });
}

/** The record names no resource: beside a pool it may be a service connection, a repository or an environment. */
function unauthorized(seen: BuildSeen, what: string): Cause {
  const closed = seen.rights.filter((right) => hasQueue(right) && mayUse(right, seen.pipeline) === false);
  const [first] = closed;
  if (first === undefined)
    return {
      code: 'waiting.not-permitted',
      what: `${what} to use a resource: a pool, a service connection, a repository or an environment`,
      next: 'press View and Permit on the page of the run',
    };
  const pools = closed.map(({ pool }) => pool).join(', ');
  return {
    code: 'waiting.not-permitted',
    what: `${what}; the pipeline may not use ${closed.length === 1 ? 'pool' : 'pools'} ${pools} of project ${first.project}`,
    next: `${authorize(first, closed)}   # or press Permit on the page of the run`,
  };
}

function hasQueue({ permitted }: PoolRight): boolean {
  return permitted.kind === 'value' && permitted.value !== undefined;
}

/** Without the build, a pool that its project may not use is a possible reason. */
function possible({ rights, pipeline, build }: BuildSeen): readonly Cause[] {
  // The projects were read, and none has the build.
  if (build.kind === 'value') return [];
  return rights.flatMap((right): readonly Cause[] => {
    const may = mayUse(right, pipeline);
    if (may === true || right.permitted.kind === 'unknown') return [];
    if (!hasQueue(right)) return [{ ...noQueue(right), isPossible: true }];
    return [
      {
        ...notPermitted(right),
        what: `pool ${right.pool} is not permitted for all pipelines of project ${right.project}`,
        isPossible: true,
      },
    ];
  });
}

/** Returns `stage Train`, or `the run`. */
function stageOf(record: TimelineRecord, records: readonly TimelineRecord[]): string {
  const byId = new Map(records.map((each) => [each.id, each]));
  let at: TimelineRecord | undefined = record;
  // A loop in a hostile answer ends.
  for (let steps = 0; at !== undefined && steps < 10; steps += 1) {
    if (at.type === 'Stage')
      return at.name === undefined || at.name === '__default' ? 'the run' : `stage ${at.name}`;
    at = at.parentId === undefined ? undefined : byId.get(at.parentId);
  }
  return 'the run';
}
