// Why a build has no job in a queue: each cause fires, and beside it a case in which it does not.
import { describe, expect, test } from 'vitest';

import { buildCauses, type BuildSeen, type PoolRight } from '../../../../src/fleet/waiting/build-causes.ts';
import type { Build, TimelineRecord } from '../../../../src/shared/azure/builds.ts';

const build: Build = { id: 1, status: 'inProgress', errors: [] };
const record = (type: string, more: Partial<TimelineRecord> = {}): TimelineRecord => ({
  id: type,
  type,
  state: 'inProgress',
  errors: [],
  ...more,
});
const right = (permitted: PoolRight['permitted']): PoolRight => ({
  pool: 'gpu-lab',
  project: 'two words',
  permitted,
});
const open = right({ kind: 'value', value: { every: true, pipelines: [] } });
const other = right({ kind: 'value', value: { every: false, pipelines: [8] } });
const none = right({ kind: 'value', value: undefined });
const unread = right({ kind: 'unknown', why: 'refused' });
const noPool =
  'Could not find a pool with name GPU-lab. The pool does not exist or has not been authorized for use. For authorization details, refer to https://aka.ms/yamlauthz.';

interface Given extends Partial<Omit<BuildSeen, 'build' | 'timeline'>> {
  readonly build?: Partial<Build>;
  readonly records?: readonly TimelineRecord[];
  readonly isUnknown?: boolean;
}

function decide({ build: of, records = [], isUnknown = false, ...more }: Given) {
  return buildCauses({
    build: isUnknown ? { kind: 'unknown', why: 'no scope' } : { kind: 'value', value: { ...build, ...of } },
    timeline: isUnknown ? { kind: 'unknown', why: 'no scope' } : { kind: 'value', value: records },
    pipeline: 7,
    rights: [],
    hasJobs: false,
    ...more,
  });
}

const approval = record('Checkpoint.Approval', { startTime: '2026-11-21T11:00:00Z' });
const authorization = record('Checkpoint.Authorization');
const done = { state: 'completed', result: 'succeeded' };

describe.each<[string, readonly Given[], readonly Given[]]>([
  [
    'waiting.approval',
    [{ records: [approval] }, { records: [approval], hasJobs: true }],
    [{ records: [{ ...approval, ...done }] }, { records: [authorization] }],
  ],
  [
    'waiting.check',
    [
      { records: [record('Checkpoint.ExclusiveLock')] },
      { records: [record('Checkpoint.TaskCheck', { state: 'pending' })] },
    ],
    [
      { records: [approval] },
      { records: [record('Checkpoint')] },
      { records: [record('Checkpoint.TaskCheck', done)] },
    ],
  ],
  [
    'waiting.not-permitted',
    [
      { records: [authorization], rights: [other] },
      { records: [authorization], rights: [open] },
      { records: [authorization], rights: [unread] },
      { build: { errors: [noPool] }, rights: [other] },
      { isUnknown: true, rights: [other] },
    ],
    [
      { records: [{ ...authorization, ...done }], rights: [other] },
      { rights: [other] },
      { isUnknown: true, rights: [open] },
      { isUnknown: true, rights: [unread] },
      { isUnknown: true, rights: [other], pipeline: 8 },
      { isUnknown: true, rights: [other], hasJobs: true },
    ],
  ],
  [
    'waiting.no-queue',
    [
      { build: { errors: [noPool] }, rights: [none] },
      { build: { errors: [noPool] }, rights: [unread] },
      { records: [record('Job', { errors: [noPool] })], rights: [] },
      { isUnknown: true, rights: [none] },
    ],
    [{ rights: [none] }, { isUnknown: true, rights: [open] }, { records: [authorization], rights: [none] }],
  ],
  [
    'waiting.pipeline-error',
    [{ build: { errors: ['/azure-pipelines.yml: mapping values'] } }],
    [{ build: { errors: [noPool] } }, {}],
  ],
  [
    'waiting.not-queued',
    [{}, { build: { status: 'notStarted' } }],
    [{ build: { status: 'completed' } }, { hasJobs: true }, { isUnknown: true }, { records: [approval] }],
  ],
])('%s', (code, fires, not) => {
  test.each(fires)('fires: %j', (given) => {
    expect(decide(given).map((each) => each.code)).toContain(code);
  });

  test.each(not)('does not: %j', (given) => {
    expect(decide(given).map((each) => each.code)).not.toContain(code);
  });
});

test('the next action names pool and project as a shell takes them', () => {
  expect(decide({ records: [authorization], rights: [other] })[0]).toMatchObject({
    what: 'the run waits for a permission; the pipeline may not use pool gpu-lab of project two words',
    next: "run: azp-fleet pool authorize gpu-lab --project 'two words'   # or press Permit on the page of the run",
  });
});

test('the record of a permission names no resource: each pool that the pipeline may not use is named', () => {
  const night = { ...other, pool: 'night' };
  expect(decide({ records: [authorization], rights: [other, night, open] })).toMatchObject([
    {
      what: 'the run waits for a permission; the pipeline may not use pools gpu-lab, night of project two words',
      next: expect.stringContaining("azp-fleet pool authorize gpu-lab night --project 'two words'"),
    },
  ]);
  expect(decide({ records: [authorization], rights: [open, none] })[0]?.what).toBe(
    'the run waits for a permission to use a resource: a pool, a service connection, a repository or an environment',
  );
});

test('the stage is named; a loop of records ends', () => {
  const stage = record('Stage', { id: 's', name: 'Deploy' });
  const inStage = { ...approval, parentId: 'c' };
  const records = [stage, record('Checkpoint', { id: 'c', parentId: 's' }), inStage];
  expect(decide({ records })[0]?.what).toBe('stage Deploy waits for an approval since 2026-11-21 11:00 UTC');
  expect(decide({ records: [{ ...approval, parentId: approval.id }] })[0]?.what).toContain('the run waits');
});

test('without the build a reason is only possible', () => {
  expect(decide({ isUnknown: true, rights: [other, none] }).map(({ isPossible }) => isPossible)).toEqual([
    true,
    true,
  ]);
  expect(decide({ records: [authorization], rights: [other] })[0]?.isPossible).toBeUndefined();
});

test('a build that no project has gets no reason', () => {
  const seen = { timeline: { kind: 'unknown', why: 'x' }, rights: [none], hasJobs: false } as const;
  expect(buildCauses({ ...seen, build: { kind: 'value', value: undefined } })).toEqual([]);
});
