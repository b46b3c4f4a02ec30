import { expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { readLimits, readParallelJobs, readUsage } from '../../../../src/shared/azure/parallel-jobs.ts';
import { useFake } from '../../practice/azure/server.ts';

const limit = (parallelismTag: string, isHosted: boolean, totalCount: number) => ({
  hostId: '9d2f',
  parallelismTag,
  isHosted,
  isPremium: false,
  totalCount,
  failedToReachAllProviders: false,
  resourceLimitsData: { FreeCount: '1', PurchasedCount: '0' },
});

test.each([
  ['a valid answer', { resourceLimit: limit('Private', false, 1), usedCount: 1 }, { permitted: 1, used: 1 }],
  [
    'no limit',
    { resourceLimit: limit('Private', false, 2_147_483_647), usedCount: 0 },
    { permitted: undefined, used: 0 },
  ],
  [
    'the used jobs are missing',
    { resourceLimit: limit('Private', false, 3), usedCount: null },
    { permitted: 3, used: undefined },
  ],
  ['the limit is missing', { resourceLimit: null, usedCount: 3 }, undefined],
  ['an invalid number', { resourceLimit: { totalCount: 'many' } }, undefined],
  ['a web page', undefined, undefined],
])('resource usage: %s', (_, answer, jobs) => {
  expect(readUsage(answer)).toEqual(jobs);
});

test.each([
  [
    'all four',
    [
      limit('Private', true, 1),
      limit('Public', false, 25),
      limit('Private', false, 2),
      limit('Public', true, 10),
    ],
    { permitted: 2, used: undefined },
  ],
  ['none for self-hosted agents', [limit('Private', true, 1)], undefined],
  ['no list', 'x', undefined],
  [
    'invalid items',
    [null, 7, [], { parallelismTag: 7 }, limit('Private', false, 2)],
    { permitted: 2, used: undefined },
  ],
])('resource limits: %s', (_, value, jobs) => {
  expect(readLimits({ count: 4, value })).toEqual(jobs);
});

const fake = useFake();
const path = '/lab/_apis/distributedtask';
const paths = async (since: number) =>
  (await fake.control.requests()).slice(since).map((request) => request.path);

test('one request returns both', async () => {
  const before = (await fake.control.requests()).length;
  expect(await fake.client().parallelJobs()).toMatchObject({ used: 0 });
  expect(await paths(before)).toEqual([expect.stringContaining(`${path}/resourceusage`)]);
});

test('a server that refuses only makes the limit unknown', async () => {
  await fake.control.fail({ count: 2, path: 'resource(usage|limits)', status: 403 });
  expect(await readParallelJobs(fake.client(), silentLogger)).toBeUndefined();
});
