// Writes that are refused leave nothing behind.
import { beforeAll, describe, expect, test } from 'vitest';
import { anAgent, apiOf, valueOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';
const authorization = `Basic ${Buffer.from(':good-token').toString('base64')}`;

beforeAll(async () => {
  await call('POST', `${root}/pools`, { name: 'gpu' });
  await call('POST', `${root}/pools`, { name: 'machines', poolType: 'deployment' });
});

test.each([
  [`${root}/pools/1/agents/AGENT`, 'PUT'],
  [`${root}/pools/1/agents/AGENT`, 'PATCH'],
  [`${root}/pools/1/agents/AGENT/usercapabilities`, 'PUT'],
  [`${root}/pools/1/agents`, 'POST'],
  [`${root}/pools`, 'POST'],
  [`${root}/pools/1`, 'PATCH'],
  ['/_apis/projects', 'POST'],
])(
  '%s: %s of what is no JSON object, or of nothing, is refused and changes nothing',
  async (path, method) => {
    const known = anAgent('kept', { userCapabilities: { gpu: 'a100' } });
    const found = await call('GET', `${root}/pools/1/agents?agentName=kept`);
    const [before = (await call('POST', `${root}/pools/1/agents`, known)).json] = valueOf(
      found,
      (each) => each,
    );
    const { id } = before as { id: number };
    for (const text of ['', 'not json', '{"name":', '5', '"text"', 'null']) {
      const url = `${fake.server.organization}${path.replace('AGENT', String(id))}?api-version=7.1`;
      const headers = { authorization, 'content-type': 'application/json' };
      const response = await fetch(url, { method, headers, ...(text === '' ? {} : { body: text }) });
      expect([text, response.status]).toEqual([text, 400]);
    }
    expect((await call('GET', `${root}/pools/1/agents/${id}?includeCapabilities=true`)).json).toMatchObject(
      known,
    );
  },
);

test.each([
  ['a name with a slash', 'PATCH', { name: 'a/b' }],
  ['a long name', 'PATCH', { name: 'x'.repeat(65) }],
  ['a visibility that is none', 'PATCH', { visibility: 'secret' }],
  ['a visibility that is none', 'POST', { name: 'new', visibility: 7 }],
])('a project is not changed or made with %s: %s %o', async (_, method, body) => {
  const before = (await call('GET', '/_apis/projects')).json;
  const path = method === 'POST' ? '/_apis/projects' : '/_apis/projects/vision';
  expect((await call(method, path, body)).status).toBe(400);
  expect((await call('GET', '/_apis/projects')).json).toEqual(before);
});

test.each([
  ['Public', 'public'],
  [1, 'organization'],
  ['unchanged', 'organization'],
  ['private', 'private'],
])('visibility %s is %s', async (visibility, shown) => {
  expect((await call('PATCH', '/_apis/projects/vision', { visibility })).status).toBe(202);
  expect((await call('GET', '/_apis/projects/vision')).json).toMatchObject({ visibility: shown });
});

describe('a queue without a pool', () => {
  const queues = '/vision/_apis/distributedtask/queues';
  const ids = Array.from({ length: 60 }, (_, id) => id).join(',');
  const pools = async () =>
    valueOf(await call('GET', `${root}/pools?poolIds=${ids}`), (each) => each['name']);

  test.each<[string, string, ('pools.create' | 'queues.create')[], number, string]>([
    ['whose name a deployment pool has', 'Machines', [], 409, 'TaskAgentPoolExistsException'],
    [
      'that needs a new one, without the permission for it',
      'fresh',
      ['pools.create'],
      403,
      'AccessDeniedException',
    ],
    ['without the permission for queues', 'fresh', ['queues.create'], 403, 'AccessDeniedException'],
    ['that is there already', 'shared', ['pools.create'], 409, 'TaskAgentQueueExistsException'],
  ])('%s is refused, and no pool is made', async (_, name, denied, status, typeKey) => {
    const [id] = valueOf(await call('GET', `${root}/pools?poolName=gpu`), (each) => each['id']);
    await call('POST', queues, { name: 'shared', pool: { id } });
    const before = await pools();
    await fake.control.deny(denied);
    expect(await call('POST', queues, { name })).toMatchObject({ status, json: { typeKey } });
    expect(await pools()).toEqual(before);
  });
});
