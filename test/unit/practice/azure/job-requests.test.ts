// The queue of a pool as clients read and change it.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { anAgent, apiOf, valueOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';
let path = '';
let pool = 0;

beforeAll(async () => {
  pool = ((await call('POST', `${root}/pools`, { name: 'gpu' })).json as { id: number }).id;
  path = `${root}/pools/${pool}/jobrequests`;
  await call('POST', `${root}/pools/${pool}/agents`, anAgent('a'));
});

const jobs = (query: string) => call('GET', `${path}?${query}`);
const finish = (id: number, result: string) =>
  call('DELETE', `${path}/${id}?lockToken=00000000-0000-0000-0000-000000000000&result=${result}`);
let queued: readonly number[] = [];

beforeEach(async () => {
  queued = (await fake.control.queue({ pool: 'gpu', count: 5 })).map(({ id }) => id);
  for (const id of queued.slice(0, 3)) expect((await finish(id, 'succeeded')).status).toBe(204);
  return async () => {
    for (const id of queued) await finish(id, 'canceled');
  };
});

const ids = async (query: string) => valueOf(await jobs(query), ({ requestId }) => requestId as number);

test.each([
  ['completedRequestCount=0', 0],
  ['completedRequestCount=2', 2],
])('%s: those that are open, and as many finished ones', async (query, finished) => {
  const seen = await ids(query);
  expect(seen.slice(0, 2)).toEqual(queued.slice(3));
  expect(seen).toHaveLength(2 + finished);
});

describe('$top', () => {
  test('gives pages without matched agents, whatever completedRequestCount says', async () => {
    const answer = await jobs('$top=2&completedRequestCount=0');
    expect(valueOf(answer, ({ requestId }) => requestId)).toEqual(queued.slice(3));
    expect(valueOf(answer, (each) => 'matchedAgents' in each)).toEqual([false, false]);
    expect(valueOf(await jobs('completedRequestCount=0'), (each) => 'matchedAgents' in each)).toEqual([
      true,
      true,
    ]);
  });

  test('the token of the header leads through all of them, each once', async () => {
    const seen: number[] = [];
    for (let token = ''; ;) {
      const answer = await jobs(`$top=2${token}`);
      seen.push(...valueOf(answer, ({ requestId }) => requestId as number));
      const next = answer.headers.get('x-ms-continuationtoken');
      if (next === null) break;
      token = `&continuationToken=${encodeURIComponent(next)}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining([...queued]));
    expect(seen.slice(0, 2)).toEqual(queued.slice(3));
  });

  test.each(['$top=0', '$top=x', '$top=2&continuationToken=x'])('%s is refused', async (query) => {
    expect((await jobs(query)).status).toBe(400);
  });
});

test('planId finds the requests of a plan', async () => {
  const [planId] = valueOf(await jobs('completedRequestCount=0'), (each) => each['planId'] as string);
  expect(await ids(`planId=${planId}`)).toEqual([queued[3]]);
});

test('unknown agentIds find nothing', async () => {
  expect(await ids('agentIds=1,999')).toEqual([]);
  expect(await ids('agentId=999')).toEqual([]);
});

test('a queue of a project shows its own', async () => {
  const made = await call('POST', `/vision${root}/queues`, { pool: { id: pool } });
  const { id } = made.json as { id: number };
  const answer = await call(
    'GET',
    `/vision${root}/queues/${id}/agentrequests?$top=2&api-version=7.1-preview.1`,
  );
  expect(valueOf(answer, ({ requestId }) => requestId)).toEqual(queued.slice(3));
});

describe('a client changes a request', () => {
  const change = (id: number | undefined, query: string, body: object) =>
    call('PATCH', `${path}/${id}?lockToken=00000000-0000-0000-0000-000000000000${query}`, body);

  test('moves it to the front', async () => {
    const answer = await change(queued[4], '&updateOptions=bumpRequestToTop', {});
    expect(answer.json).toMatchObject({ requestId: queued[4], priority: 1 });
    expect((await ids('completedRequestCount=0'))[0]).toBe(queued[4]);
  });

  test('renews its lock', async () => {
    const { json } = await change(queued[3], '', {});
    expect(json).toMatchObject({ receiveTime: expect.any(String), lockedUntil: expect.any(String) });
  });

  test.each([
    ['failed', 'failed'],
    [3, 'canceled'],
  ])('finishes it with %s', async (result, shown) => {
    expect((await change(queued[3], '', { result })).json).toMatchObject({
      result: shown,
      finishTime: expect.any(String),
    });
    expect(await change(queued[3], '', { result })).toMatchObject({
      status: 400,
      json: { typeKey: 'TaskAgentJobTokenExpiredException' },
    });
  });

  test('needs a lock token', async () => {
    expect((await call('PATCH', `${path}/${queued[3]}`, {})).status).toBe(400);
    expect((await call('DELETE', `${path}/${queued[3]}`)).status).toBe(400);
  });
});

test('one that is not there, or in another pool', async () => {
  for (const elsewhere of [`${path}/999999`, `${root}/pools/1/jobrequests/${queued[0]}`]) {
    expect(await call('GET', elsewhere)).toMatchObject({
      status: 404,
      json: { typeKey: 'TaskAgentJobNotFoundException' },
    });
  }
  expect(await call('GET', `${root}/pools/999/jobrequests`)).toMatchObject({
    status: 404,
    json: {
      typeKey: 'TaskAgentPoolNotFoundException',
      message: 'No agent pool found with identifier 999.',
    },
  });
});
