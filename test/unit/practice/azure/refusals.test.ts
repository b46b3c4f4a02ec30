// What the service does not do, and how it says so.
import { beforeAll, describe, expect, test } from 'vitest';
import { anAgent, apiOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';

beforeAll(async () => {
  await call('POST', `${root}/pools`, { name: 'gpu' });
  await call('POST', `${root}/pools/1/agents`, anAgent('a'));
  await call('POST', `${root}/pools`, { name: 'machines', poolType: 'deployment' });
});

type Refused = readonly [
  what: string,
  method: string,
  path: string,
  body: object | undefined,
  status: number,
  typeKey: string,
  message: RegExp,
];

const long = 'x'.repeat(300);

/** Which arguments are refused, by which type of error, is read from a build of the server; some words are not verified. */
const table: readonly Refused[] = [
  ['a pool without a name', 'POST', '/pools', {}, 400, 'ArgumentNullException', /pool\.Name$/u],
  ['an empty name', 'POST', '/pools', { name: ' ' }, 400, 'ArgumentException', /at least one character/u],
  ['a name with a slash', 'POST', '/pools', { name: 'a/b' }, 400, 'ArgumentException', /not valid/u],
  ['a pool twice', 'POST', '/pools', { name: 'GPU' }, 409, 'TaskAgentPoolExistsException', /already exists/u],
  ['a hosted pool', 'POST', '/pools', { name: 'h', isHosted: true }, 403, 'AccessDeniedException', /denied/u],
  [
    'a deployment pool with queues',
    'POST',
    '/pools',
    { name: 'd', poolType: 'deployment', autoProvision: true },
    400,
    'InvalidTaskAgentPoolException',
    /Deployment pools cannot/u,
  ],
  ['a name that is taken', 'PATCH', '/pools/1', { name: 'gpu' }, 409, 'TaskAgentPoolExistsException', /gpu/u],
  ['the hosted pool', 'PATCH', '/pools/2', { name: 'x' }, 403, 'AccessDeniedException', /Azure Pipelines/u],
  ['the hosted pool', 'DELETE', '/pools/2', undefined, 403, 'AccessDeniedException', /Azure Pipelines/u],
  ['no such pool', 'GET', '/pools/99', undefined, 404, 'TaskAgentPoolNotFoundException', /identifier 99\.$/u],
  ['no such pool', 'PATCH', '/pools/99', {}, 404, 'TaskAgentPoolNotFoundException', /99/u],
  ['an agent without a name', 'POST', '/pools/1/agents', {}, 400, 'ArgumentNullException', /agent\.Name$/u],
  ['an empty name', 'POST', '/pools/1/agents', { name: '' }, 400, 'ArgumentException', /agent\.Name$/u],
  ['a long name', 'POST', '/pools/1/agents', anAgent(long), 400, 'ArgumentException', /64 characters/u],
  ['no version', 'POST', '/pools/1/agents', { name: 'v' }, 400, 'ArgumentException', /agent\.Version$/u],
  [
    'a capability with blanks around its name',
    'POST',
    '/pools/1/agents',
    anAgent('c', { userCapabilities: { ' x': '1' } }),
    400,
    'ArgumentException',
    /agent\.UserCapabilities$/u,
  ],
  [
    'a capability of more than 1024 characters',
    'PUT',
    '/pools/1/agents/11/usercapabilities',
    { x: long.repeat(4) },
    400,
    'ArgumentException',
    /1024/u,
  ],
  ['PUT without name', 'PUT', '/pools/1/agents/11', {}, 400, 'ArgumentNullException', /agent\.Name$/u],
  ['PUT without version', 'PUT', '/pools/1/agents/11', { name: 'a' }, 400, 'ArgumentException', /Version$/u],
  ...(
    [
      [{ maxParallelism: -3 }, /agent\.MaxParallelism$/u],
      [{ maxParallelism: 0 }, /agent\.MaxParallelism$/u],
      [{ maxParallelism: 1.5 }, /agent\.MaxParallelism$/u],
      [{ maxParallelism: '2' }, /agent\.MaxParallelism$/u],
      [{ enabled: 'false' }, /agent\.Enabled$/u],
      [{ userCapabilities: ['gpu'] }, /agent\.UserCapabilities$/u],
    ] as const
  ).flatMap(([more, message]): Refused[] => {
    const type = 'userCapabilities' in more ? 'ArgumentNullException' : 'ArgumentException';
    const what = JSON.stringify(more);
    return [
      [what, 'POST', '/pools/1/agents', anAgent('new', more), 400, type, message],
      [what, 'PUT', '/pools/1/agents/11', anAgent('a', more), 400, type, message],
      [what, 'PATCH', '/pools/1/agents/11', more, 400, type, message],
    ];
  }),
  [
    'another id',
    'PUT',
    '/pools/1/agents/11',
    anAgent('a', { id: 12 }),
    400,
    'ArgumentException',
    /agent\.Id$/u,
  ],
  ['another id', 'PATCH', '/pools/1/agents/11', { id: 12 }, 400, 'ArgumentException', /agent\.Id$/u],
  [
    'a list of capabilities',
    'PUT',
    '/pools/1/agents/11/usercapabilities',
    ['gpu'],
    400,
    'ArgumentNullException',
    /userCapabilities$/u,
  ],
  [
    'an agent twice',
    'POST',
    '/pools/1/agents',
    anAgent('A'),
    409,
    'TaskAgentExistsException',
    /^Pool Default already contains an agent with name A\.$/u,
  ],
  [
    'an agent in the hosted pool',
    'POST',
    '/pools/2/agents',
    anAgent('h'),
    403,
    'AccessDeniedException',
    /Manage/u,
  ],
  ['the hosted agent', 'DELETE', '/pools/2/agents/1', undefined, 403, 'AccessDeniedException', /Manage/u],
  ['no such pool', 'POST', '/pools/99/agents', anAgent('n'), 404, 'TaskAgentPoolNotFoundException', /99/u],
  ['no such pool', 'GET', '/pools/99/agents', undefined, 404, 'TaskAgentPoolNotFoundException', /99/u],
  ['no such agent', 'GET', '/pools/1/agents/99', undefined, 404, 'TaskAgentNotFoundException', /99/u],
  ['no such agent', 'PATCH', '/pools/1/agents/99', {}, 404, 'TaskAgentNotFoundException', /99/u],
  [
    'an agent of another pool',
    'GET',
    '/pools/1/agents/1',
    undefined,
    404,
    'TaskAgentNotFoundException',
    /1/u,
  ],
  [
    'messages for no agent',
    'POST',
    '/pools/1/messages?agentId=99',
    {},
    404,
    'TaskAgentNotFoundException',
    /99/u,
  ],
  [
    'requests of no pool',
    'GET',
    '/pools/99/jobrequests',
    undefined,
    404,
    'TaskAgentPoolNotFoundException',
    /99/u,
  ],
  [
    'no such request',
    'GET',
    '/pools/1/jobrequests/99',
    undefined,
    404,
    'TaskAgentJobNotFoundException',
    /99/u,
  ],
  [
    'no such version',
    'GET',
    '/packages/agent/linux-x64/0.0.1',
    undefined,
    404,
    'PackageNotFoundException',
    /0\.0\.1/u,
  ],
  [
    'no such maintenance',
    'GET',
    '/pools/1/maintenancedefinitions/99?api-version=7.1-preview.1',
    undefined,
    404,
    'TaskAgentPoolMaintenanceDefinitionNotFoundException',
    /99/u,
  ],
];

describe('pools, agents, requests', () => {
  test.each(table)('%s: %s %s', async (_, method, path, body, status, typeKey, message) => {
    const answer = await call(method, `${root}${path}`, body);
    expect(answer).toMatchObject({ status, json: { typeKey, message: expect.stringMatching(message) } });
    expect(answer.json).toMatchObject({ $id: '1', innerException: null, errorCode: 0 });
  });
});

describe('queues and projects', () => {
  const known = '/vision/_apis/distributedtask/queues';

  test.each<Refused>([
    [
      'no such project',
      'GET',
      '/nowhere/_apis/distributedtask/queues',
      undefined,
      404,
      'ProjectDoesNotExistWithNameException',
      /^TF200016: The following project does not exist: nowhere\. Verify/u,
    ],
    [
      'no project of that Guid',
      'GET',
      '/_apis/projects/00000000-0000-0000-0000-000000000001',
      undefined,
      404,
      'ProjectDoesNotExistException',
      /TF200016/u,
    ],
    ['no such queue', 'GET', `${known}/999`, undefined, 404, 'TaskAgentQueueNotFoundException', /999/u],
    ['no such queue', 'DELETE', `${known}/999`, undefined, 404, 'TaskAgentQueueNotFoundException', /999/u],
    ['a queue twice', 'POST', known, { pool: { id: 1 } }, 409, 'TaskAgentQueueExistsException', /Default/u],
    ['a queue of no pool', 'POST', known, { pool: { id: 99 } }, 404, 'TaskAgentPoolNotFoundException', /99/u],
    ['a queue without anything', 'POST', known, {}, 400, 'ArgumentNullException', /queue\.Name$/u],
    [
      'a project twice',
      'POST',
      '/_apis/projects',
      { name: 'Vision' },
      400,
      'ProjectAlreadyExistsException',
      /TF200019/u,
    ],
    ['a project without a name', 'POST', '/_apis/projects', {}, 400, 'ArgumentNullException', /Name$/u],
    ['deleting by name', 'DELETE', '/_apis/projects/vision', undefined, 400, 'ArgumentException', /Guid/u],
  ])('%s: %s %s', async (_, method, path, body, status, typeKey, message) => {
    expect(await call(method, path, body)).toMatchObject({
      status,
      json: { typeKey, message: expect.stringMatching(message) },
    });
  });

  test('a queue of a deployment pool', async () => {
    const { json } = await call('GET', `${root}/pools?poolType=deployment`);
    const [{ id } = { id: 0 }] = (json as { value: { id: number }[] }).value;
    expect(await call('POST', known, { name: 'machines', pool: { id } })).toMatchObject({
      status: 400,
      json: { typeKey: 'TaskAgentPoolTypeMismatchException' },
    });
  });
});

test('no job is queued where only the service itself has machines', async () => {
  await expect(fake.control.queue({ pool: 'Azure Pipelines' })).rejects.toThrow(
    'nothing runs in Azure Pipelines',
  );
});

test('an update that is pending is not asked for again', async () => {
  const { json } = await call('POST', `${root}/pools/1/agents`, anAgent('old'));
  const path = `${root}/pools/1/messages?agentId=${(json as { id: number }).id}`;
  expect((await call('POST', path)).status).toBe(200);
  expect(await call('POST', path)).toMatchObject({
    status: 409,
    json: { typeKey: 'TaskAgentPendingUpdateExistsException' },
  });
});
