// What a query asks for is what comes back: each parameter that clients of the service send.
import { beforeAll, describe, expect, test } from 'vitest';
import { anAgent, apiOf, valueOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';
const named = (path: string) => call('GET', path).then((answer) => valueOf(answer, ({ name }) => name));
let pool = 0;
const ids: Record<string, number> = {};

async function made(path: string, body: object): Promise<number> {
  const answer = await call('POST', path, body);
  expect(answer.status).toBe(200);
  return (answer.json as { id: number }).id;
}

beforeAll(async () => {
  pool = await made(`${root}/pools`, { name: 'GPU', properties: { site: 'north', rack: 4 } });
  ids['machines'] = await made(`${root}/pools`, { name: 'machines', poolType: 'deployment' });
  ids['a'] = await made(
    `${root}/pools/${pool}/agents`,
    anAgent('a', {
      systemCapabilities: { git: '/usr/bin/git', 'Agent.Version': '4.275.0' },
      userCapabilities: { gpu: 'A100' },
      properties: { owner: 'lab', 'lab.room': { $type: 'System.String', $value: 'r1' } },
    }),
  );
  ids['b'] = await made(`${root}/pools/${pool}/agents`, anAgent('b', { userCapabilities: { gpu: 'H200' } }));
  ids['queue'] = await made(`/vision${root}/queues`, { name: 'GPU', pool: { id: pool } });
});

describe('pools', () => {
  test.each([
    ['poolName=gpu', ['GPU']],
    ['POOLNAME=Gpu', ['GPU']],
    ['poolName=nowhere', []],
    ['poolName=', ['Default', 'Azure Pipelines', 'GPU']],
    ['poolType=deployment', ['machines']],
    ['poolType=2', ['machines']],
    ['poolType=Automation', ['Default', 'Azure Pipelines', 'GPU']],
    ['actionFilter=use', ['Default', 'Azure Pipelines', 'GPU']],
    ['actionFilter=manage', ['Default', 'GPU']],
    ['actionFilter=2&poolName=gpu', ['GPU']],
  ])('%s', async (query, names) => {
    expect(await named(`${root}/pools?${query}`)).toEqual(names);
  });

  test('poolIds finds pools of any type, and leaves out what is not there', async () => {
    expect(await named(`${root}/pools?poolIds=${pool},${ids['machines']},999`)).toEqual(['GPU', 'machines']);
  });

  test.each(['poolType=other', 'actionFilter=7'])('%s is refused', async (query) => {
    expect(await call('GET', `${root}/pools?${query}`)).toMatchObject({
      status: 400,
      json: { count: 1, value: { Message: 'The request is invalid.' } },
    });
  });

  test.each([
    ['properties=site', { site: { $type: 'System.String', $value: 'north' } }],
    ['properties=r*k,nothing', { rack: { $type: 'System.Int32', $value: 4 } }],
  ])('%s', async (query, properties) => {
    const answer = await call('GET', `${root}/pools/${pool}?${query}`);
    expect(answer.json).toMatchObject({ properties });
    expect(Object.keys((answer.json as { properties: object }).properties)).toEqual(Object.keys(properties));
  });

  test('without a filter there are no properties', async () => {
    expect((await call('GET', `${root}/pools/${pool}`)).json).not.toHaveProperty('properties');
  });
});

describe('agents', () => {
  test.each([
    ['', ['a', 'b']],
    ['agentName=B', ['b']],
    ['agentName=c', []],
    ['demands=git', ['a']],
    ['demands=gpu', ['a', 'b']],
    ['demands=gpu -equals h200', ['b']],
    ['demands=git,gpu -equals A100', ['a']],
    ['demands=Agent.Version -gtVersion 5.0', []],
    ['demands=gpu%20-equals%20A100&agentName=b', []],
  ])('%s', async (query, names) => {
    expect(await named(`${root}/pools/${pool}/agents?${query}`)).toEqual(names);
  });

  test('a server that does not know `demands` lists all of them', async () => {
    await fake.control.readDemands(false);
    expect(await named(`${root}/pools/${pool}/agents?demands=git`)).toEqual(['a', 'b']);
  });

  test.each(['true', 'True', 'TRUE'])('includeCapabilities=%s', async (value) => {
    const answer = await call('GET', `${root}/pools/${pool}/agents/${ids['a']}?includeCapabilities=${value}`);
    expect(answer.json).toMatchObject({ userCapabilities: { gpu: 'A100' } });
  });

  test.each(['', 'includeCapabilities=false', 'includeCapabilities=False'])(
    'not with "%s"',
    async (query) => {
      const { json } = await call('GET', `${root}/pools/${pool}/agents/${ids['a']}?${query}`);
      expect(json).not.toHaveProperty('userCapabilities');
      expect(json).not.toHaveProperty('systemCapabilities');
    },
  );

  test('propertyFilters', async () => {
    const path = `${root}/pools/${pool}/agents?agentName=a&propertyFilters=lab.*`;
    expect(valueOf(await call('GET', path), ({ properties }) => properties)).toEqual([
      { 'lab.room': { $type: 'System.String', $value: 'r1' } },
    ]);
  });
});

describe('queues', () => {
  test.each([
    ['', ['Default', 'Azure Pipelines', 'GPU']],
    ['queueName=gpu', ['GPU']],
    ['queueNames=gpu,default', ['Default', 'GPU']],
    ['poolIds=1,2', ['Default', 'Azure Pipelines']],
    ['actionFilter=manage', ['Default', 'Azure Pipelines', 'GPU']],
  ])('%s', async (query, names) => {
    expect(await named(`/vision${root}/queues?${query}`)).toEqual(names);
  });

  test('queueIds', async () => {
    expect(await named(`/vision${root}/queues?queueIds=${ids['queue']},77777`)).toEqual(['GPU']);
  });
});

const agent = () => `${root}/pools/${pool}/agents/${ids['a']}`;
test.each<[() => string, string]>([
  [() => `${root}/pools`, 'poolIds=abc'],
  [() => `${root}/pools`, 'PoolIds=1,x'],
  [() => `/vision${root}/queues`, 'queueIds=one'],
  [() => `/vision${root}/queues`, 'poolIds=1.5'],
  [() => `${root}/pools/${pool}/jobrequests`, 'agentIds=a'],
  [agent, 'includeCapabilities=maybe'],
  [agent, 'includeAssignedRequest=1'],
  [() => '/_apis/projects', '$top=-1'],
  [() => '/_apis/projects', '$skip=1.5'],
  [() => '/_apis/projects', '$top=many'],
  [() => `${root}/packages/agent`, '$top=-1'],
  [() => `${root}/packages/agent`, '$top=x'],
])('what is neither number nor truth is refused: %s?%s', async (path, query) => {
  expect(await call('GET', `${path()}?${query}`)).toMatchObject({
    status: 400,
    json: { count: 1, value: { Message: 'The request is invalid.' } },
  });
});

describe('projects', () => {
  test.each([
    ['', ['vision', 'two words']],
    ['stateFilter=all', ['vision', 'two words']],
    ['stateFilter=deleted', []],
    ['$top=1', ['vision']],
    ['$top=1&$skip=1', ['two words']],
  ])('%s', async (query, names) => {
    expect(await named(`/_apis/projects?${query}`)).toEqual(names);
  });

  test('a page tells where the next one begins', async () => {
    const { headers } = await call('GET', '/_apis/projects?$top=1');
    const token = headers.get('x-ms-continuationtoken');
    expect(await named(`/_apis/projects?$top=1&continuationToken=${token}`)).toEqual(['two words']);
  });
});

describe('packages of the agent', () => {
  test('of one platform, the newest first', async () => {
    const answer = await call('GET', `${root}/packages/agent?platform=linux-x64&$top=1`);
    expect(answer.json).toMatchObject({
      count: 1,
      value: [{ type: 'agent', platform: 'linux-x64', version: { major: 5, minor: 279, patch: 0 } }],
    });
  });

  test('one version', async () => {
    expect((await call('GET', `${root}/packages/agent/linux-arm64/4.275.0`)).json).toMatchObject({
      filename: 'vsts-agent-linux-arm64-4.275.0.tar.gz',
    });
    expect(await call('GET', `${root}/packages/agent/linux-x64/1.2.3`)).toMatchObject({ status: 404 });
  });
});
