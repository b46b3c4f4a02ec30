// Runs of YAML pipelines: what the service checks before it queues a job, and what it shows of that.
import { beforeEach, expect, test } from 'vitest';

import { apiOf } from '../api.ts';
import { useFake } from '../server.ts';

const fake = useFake();
const call = apiOf(fake);
let pool = '';
let tests = 0;

beforeEach(async () => {
  tests += 1;
  pool = `gpu-${tests}`;
  await fake.client().ensurePool(pool);
});

async function queue(): Promise<{ readonly id: number; readonly poolId: number }> {
  const client = fake.client();
  const found = await client.findPool(pool);
  if (found === undefined) throw new Error('no pool');
  const { id } = await client.createQueue('vision', found);
  return { id, poolId: found.id };
}

const read = async (id: number, more = '') =>
  (await call('GET', `/vision/_apis/build/builds/${id}${more}?api-version=7.1`)) as {
    status: number;
    json: unknown;
  };
const requests = async (poolId: number) =>
  (await call('GET', `/_apis/distributedtask/pools/${poolId}/jobrequests?api-version=7.1`)).json as {
    value: readonly { readonly owner: { readonly id: number }; readonly result?: string }[];
  };
const types = (json: unknown) =>
  (json as { records: readonly { type: string; state: string }[] }).records.map(
    ({ type, state }) => `${type} ${state}`,
  );

test('without the queue the run fails with the error of the service, and has no timeline', async () => {
  const id = await fake.control.begin({ pool });
  expect((await read(id)).json).toMatchObject({
    status: 'completed',
    result: 'failed',
    validationResults: [
      { result: 'error', message: expect.stringContaining(`Could not find a pool with name ${pool}.`) },
    ],
  });
  expect((await read(id, '/timeline')).status).toBe(204);
});

test('it waits for the permission of the pool, then for its checks; only then is a job queued', async () => {
  const { id: queueId, poolId } = await queue();
  const id = await fake.control.begin({ pool, checks: ['Approval'] });
  expect((await read(id)).json).toMatchObject({ status: 'notStarted' });
  expect(types((await read(id, '/timeline')).json)).toEqual([
    'Stage pending',
    'Checkpoint inProgress',
    'Checkpoint.Authorization inProgress',
  ]);
  await fake.control.approve(id);
  expect((await requests(poolId)).value).toEqual([]);
  await fake.client().authorizeQueue('vision', queueId);
  expect(types((await read(id, '/timeline')).json)).toEqual([
    'Stage pending',
    'Checkpoint inProgress',
    'Checkpoint.Authorization completed',
    'Checkpoint.Approval inProgress',
  ]);
  expect((await requests(poolId)).value).toEqual([]);
  await fake.control.approve(id);
  expect((await requests(poolId)).value).toMatchObject([
    { owner: { id }, demands: ['Agent.Version -gtVersion 2.163.1'], result: 'failed' },
  ]);
  const { json } = await read(id, '/timeline');
  expect(types(json).at(-1)).toBe('Job completed');
  const { records } = json as { records: readonly { issues?: readonly object[] }[] };
  expect(records.at(-1)?.issues).toMatchObject([
    { type: 'error', message: expect.stringContaining('No agent found in pool') },
  ]);
});

test('a job that no agent matched may be in no list', async () => {
  const { id: queueId, poolId } = await queue();
  await fake.client().authorizeQueue('vision', queueId);
  await fake.control.begin({ pool });
  expect((await requests(poolId)).value).toHaveLength(1);
  await fake.control.listUnmatched(false);
  expect((await requests(poolId)).value).toEqual([]);
});

test('a token without the scope is answered like a wrong one; other builds are not found', async () => {
  const id = await fake.control.begin({ pool });
  const path = `/vision/_apis/build/builds/${id}?api-version=7.1`;
  await fake.control.deny(['builds.read']);
  expect((await call('GET', path)).status).toBe(203);
  expect((await call('GET', '/_apis/distributedtask/pools?api-version=7.1')).status).toBe(200);
  await fake.control.deny([]);
  expect(await call('GET', '/vision/_apis/build/builds/9999?api-version=7.1')).toMatchObject({
    status: 404,
    json: { typeKey: 'BuildNotFoundException' },
  });
  expect(
    (await call('GET', `/${encodeURIComponent('two words')}/_apis/build/builds/${id}?api-version=7.1`))
      .status,
  ).toBe(404);
});

test('a job that was queued alone is a build with its number', async () => {
  const [job] = await fake.control.queue({ pool, name: 'alone', project: 'vision' });
  expect((await read(job?.id ?? 0)).json).toMatchObject({
    id: job?.id,
    status: 'completed',
    result: 'failed',
  });
  expect(types((await read(job?.id ?? 0, '/timeline')).json)).toEqual(['Job completed']);
});
