// Every answer of the fake, and every request of our own client, is what the service's published contract allows.
import type { AnySchemaObject } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { calls } from '../../../../src/shared/azure/calls.ts';
import { AgentKey } from '../../../../src/shared/azure/keys.ts';
import { managementRoutes } from '../../../../practice/azure/answer.ts';
import { apiOf } from './api.ts';
import { differences, lostParameters, notServed, otherAnswers } from './contract-differences.ts';
import { against, asAnswered, contractWithout, ofDefinition, operationOf, operations } from './contract.ts';
import { recordings } from './recordings.ts';
import { newAgent, useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';
const preview = 'api-version=7.1-preview.1';
const everything = 'includeCapabilities=true&includeAssignedRequest=true&includeLastCompletedRequest=true';
const noLock = 'lockToken=00000000-0000-0000-0000-000000000000';
const agent = {
  name: 'a',
  version: '4.275.0',
  osDescription: 'Linux',
  maxParallelism: 1,
  enabled: true,
  systemCapabilities: { git: '/usr/bin/git' },
  userCapabilities: { gpu: 'A100' },
  properties: { owner: 'lab' },
  authorization: { publicKey: { exponent: 'AQAB', modulus: 'AAAA' } },
};

type Step = readonly [method: string, path: string, body?: object];

/** One after the other, so that later ones have something to answer with. */
const walk: readonly Step[] = [
  ['POST', `${root}/pools`, { name: 'gpu', autoProvision: true, properties: { site: 'north' } }],
  ['GET', `${root}/pools`],
  ['GET', `${root}/pools?properties=*`],
  ['GET', `${root}/pools/1?properties=site`],
  ['PATCH', `${root}/pools/1`, { autoUpdate: false }],
  ['POST', `${root}/pools/1/agents`, agent],
  ['GET', `${root}/pools/1/agents?${everything}&propertyFilters=*`],
  ['GET', `${root}/pools/2/agents?${everything}`],
  ['GET', `${root}/pools/1/agents/AGENT?${everything}`],
  ['PUT', `${root}/pools/1/agents/AGENT`, agent],
  ['PATCH', `${root}/pools/1/agents/AGENT`, { enabled: false }],
  ['PUT', `${root}/pools/1/agents/AGENT/usercapabilities`, { gpu: 'H200' }],
  ['POST', `${root}/pools/1/messages?agentId=AGENT`],
  ['PUT', `${root}/pools/1/agents/AGENT/updates?currentState=Downloading&${preview}`],
  ['GET', `${root}/pools/1/agents?${everything}`],
  ['GET', `${root}/pools/1/jobrequests?completedRequestCount=10`],
  ['GET', `${root}/pools/1/jobrequests?$top=10`],
  ['GET', `${root}/pools/1/jobrequests/JOB`],
  ['PATCH', `${root}/pools/1/jobrequests/JOB?${noLock}`, {}],
  ['DELETE', `${root}/pools/1/jobrequests/JOB?${noLock}&result=succeeded`],
  ['GET', `${root}/pools/1/jobrequests`],
  ['GET', `${root}/packages/agent?platform=linux-x64`],
  ['GET', `${root}/packages/agent/linux-x64`],
  ['GET', `${root}/packages/agent/linux-x64/5.279.0`],
  ['GET', `${root}/resourcelimits?${preview}`],
  ['GET', `${root}/resourceusage?parallelismTag=Private&includeRunningRequests=true&${preview}`],
  ['POST', `${root}/pools/1/maintenancedefinitions?${preview}`, { enabled: true }],
  ['GET', `${root}/pools/1/maintenancedefinitions?${preview}`],
  ['GET', `${root}/pools/1/maintenancedefinitions/DEFINITION?${preview}`],
  ['PUT', `${root}/pools/1/maintenancedefinitions/DEFINITION?${preview}`, { enabled: true }],
  ['POST', `${root}/pools/1/maintenancejobs?${preview}`, { definitionId: 'DEFINITION' }],
  ['GET', `${root}/pools/1/maintenancejobs?${preview}`],
  ['GET', `${root}/pools/1/maintenancejobs/MAINTENANCE?${preview}`],
  ['PATCH', `${root}/pools/1/maintenancejobs/MAINTENANCE?${preview}`, { status: 'cancelling' }],
  ['DELETE', `${root}/pools/1/maintenancejobs/MAINTENANCE?${preview}`],
  ['DELETE', `${root}/pools/1/maintenancedefinitions/DEFINITION?${preview}`],
  ['GET', '/_apis/process/processes'],
  ['GET', '/_apis/process/processes/6b724908-ef14-45cf-84f8-768b5384da45'],
  ['GET', '/_apis/projects'],
  ['POST', '/_apis/projects', { name: 'new', visibility: 'private' }],
  ['GET', '/_apis/projects/new?includeCapabilities=true'],
  ['GET', '/_apis/operations/OPERATION'],
  ['GET', `/new${root}/queues`],
  ['POST', `/new${root}/queues?authorizePipelines=true`, { name: 'made' }],
  ['GET', `/new${root}/queues/QUEUE`],
  ['GET', `/new${root}/queues/QUEUE/agentrequests?$top=5&${preview}`],
  ['GET', `/new/_apis/pipelines/pipelinepermissions/queue/QUEUE?${preview}`],
  [
    'PATCH',
    `/new/_apis/pipelines/pipelinepermissions/queue/QUEUE?${preview}`,
    { allPipelines: { authorized: true }, pipelines: [{ id: 16, authorized: true }] },
  ],
  [
    'PATCH',
    `/new/_apis/pipelines/pipelinepermissions?${preview}`,
    [{ resource: { type: 'queue', id: 'QUEUE' }, pipelines: [{ id: 17, authorized: true }] }],
  ],
  ['DELETE', `/new${root}/queues/QUEUE`],
  ['PATCH', '/_apis/projects/PROJECT', { description: 'changed' }],
  ['DELETE', '/_apis/projects/PROJECT'],
  ['DELETE', `${root}/pools/1/agents/AGENT`],
  ['DELETE', `${root}/pools/1`],
  ['POST', '/vision/_apis/pipelines/7/runs', {}],
  ['GET', '/vision/_apis/pipelines/7/runs/RUN'],
  ['GET', '/vision/_apis/build/builds/RUN'],
  ['GET', '/vision/_apis/build/builds/RUN/timeline'],
];

interface Walked {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly json: unknown;
}

let walked: readonly Walked[] = [];

/** Which answer has the id that a placeholder of later steps stands for. */
const placeholders = [
  [`POST ${root}/pools/1/agents`, 'AGENT'],
  [`POST ${root}/pools/1/maintenancedefinitions`, 'DEFINITION'],
  [`POST ${root}/pools/1/maintenancejobs`, 'MAINTENANCE'],
  ['POST /_apis/projects', 'OPERATION'],
  ['GET /_apis/projects/new', 'PROJECT'],
  [`POST /new${root}/queues`, 'QUEUE'],
  ['POST /vision/_apis/pipelines/7/runs', 'RUN'],
] as const;

async function goThrough(): Promise<Walked[]> {
  const ids = new Map<string, string>();
  const seen: Walked[] = [];
  for (const [method, template, body] of walk) {
    const fill = (text: string) => [...ids].reduce((filled, [name, id]) => filled.replaceAll(name, id), text);
    const path = fill(template);
    const sent = body === undefined ? undefined : (JSON.parse(fill(JSON.stringify(body))) as object);
    const { status, json } = await call(method, path, sent);
    seen.push({ method, path: path.split('?')[0] ?? '', status, json });
    const { id, jobId } = Object(json) as { id?: number | string; jobId?: number };
    const name = placeholders.find(([end]) => `${method} ${template}`.includes(end))?.[1];
    if (name !== undefined) ids.set(name, String(id ?? jobId));
    if (name === 'AGENT') {
      const [job] = await fake.control.queue({ pool: 'Default', demands: ['git'] });
      ids.set('JOB', String(job?.id));
    }
  }
  return seen;
}

beforeAll(async () => {
  await fake.control.addPipeline({ id: 7, title: 'check', project: 'vision', pool: 'Default' });
  walked = await goThrough();
});

const keyOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`;

test('the walk comes by every route that clients have', () => {
  const missed = managementRoutes.filter(
    ([method, pattern]) => !walked.some((each) => each.method === method && pattern.test(each.path)),
  );
  expect(missed.map(([method, pattern]) => `${method} ${pattern.source}`)).toEqual([]);
});

test('what is said not to be served is published, and is not served', async () => {
  const known = operations.map(keyOf);
  for (const each of Object.keys(notServed)) {
    expect(known).toContain(each);
    const [method = '', path = ''] = each.split(' ');
    const asked = path.replace('/{organization}', '').replace('{project}', 'vision');
    expect((await call(method, asked)).status).toBe(404);
  }
});

test('the walk comes by every published operation that the practice server has', () => {
  const done = new Set(walked.map(({ method, path }) => operationOf(method, path)));
  const missed = operations.filter((each) => !done.has(each) && !Object.hasOwn(notServed, keyOf(each)));
  expect(missed.map(keyOf)).toEqual([]);
});

interface Formed {
  readonly what: string;
  readonly schema: AnySchemaObject;
  readonly value: unknown;
}

/** Answers that have a published form, beside it. */
function formed(answers: readonly Walked[]): Formed[] {
  return answers.flatMap(({ method, path, json }) => {
    const what = `${method} ${path}`;
    if (path.includes('/jobrequests') && method !== 'DELETE') {
      // Of job requests only the form is published, not where they are.
      const requests = (json as { value?: unknown[] }).value ?? [json];
      return requests.map((value) => ({ what, schema: ofDefinition('TaskAgentJobRequest'), value }));
    }
    const operation = operationOf(method, path);
    const whole = /\/(?:usercapabilities|updates)$/u.test(path) ? 'TaskAgent' : undefined;
    const other = operation === undefined ? whole : otherAnswers[keyOf(operation)];
    const schema = other === undefined ? operation?.response : ofDefinition(other);
    return schema ? [{ what, schema: asAnswered(schema), value: json }] : [];
  });
}

const problems = (all: readonly Formed[]) =>
  all.flatMap(({ what, schema, value }) => against(schema, value).map((problem) => `${what}: ${problem}`));

test('every answer that has a published form has that form', () => {
  expect(walked.filter(({ status }) => status >= 300)).toEqual([]);
  const all = formed(walked);
  expect(all.length).toBeGreaterThan(25);
  expect(problems(all)).toEqual([]);
});

const recorded: readonly Walked[] = recordings
  .filter(({ status }) => status < 300)
  .map(({ method, url, status, body }) => ({
    method,
    path: new URL(url).pathname.replace('/contoso-lab', ''),
    status,
    json: body,
  }));

test('every recorded answer has it, with the differences that are listed', () => {
  const all = formed(recorded);
  expect(all.length).toBeGreaterThan(10);
  expect(problems(all)).toEqual([]);
});

test.each(differences)('$definition.$member differs: $source', (difference) => {
  const without = contractWithout(difference);
  const needed = formed([...walked, ...recorded]).some(
    ({ schema, value }) => against(schema, value, without).length > 0,
  );
  expect(needed).toBe(true);
});

test('the check sees what is wrong', () => {
  const schema = ofDefinition('TaskAgentPool');
  expect(against(schema, { id: 1, name: 'x', poolType: 'automation', createdBy: { id: 'y' } })).toEqual([]);
  expect(against(schema, { id: 'x' }).join()).toContain('/id must be integer');
  expect(against(schema, { poolType: 'other' }).join()).toContain('/poolType must be equal to one of');
  expect(against(schema, { surprise: 1 }).join()).toContain('surprise');
  expect(against(schema, { createdOn: 'yesterday' }).join()).toContain('date-time');
});

describe('every request of our own client', () => {
  const key = new AgentKey({ n: 'AAAA', e: 'AQAB', d: '', p: '', q: '', dp: '', dq: '', qi: '' });
  const registered = newAgent('a', key);
  const made = {
    listPools: calls.listPools('gpu'),
    createPool: calls.createPool('gpu'),
    setAutoUpdate: calls.setAutoUpdate(1, false),
    listAgents: calls.listAgents(1, { owner: 'o', lastCompleted: true }),
    findAgent: calls.findAgent(1, 'a'),
    getAgent: calls.getAgent(1, 2),
    createAgent: calls.createAgent(1, registered),
    replaceAgent: calls.replaceAgent(1, 2, registered),
    setEnabled: calls.setEnabled(1, 2, false),
    setUserCapabilities: calls.setUserCapabilities(1, 2, { gpu: 'A100' }),
    deleteAgent: calls.deleteAgent(1, 2),
    unfinishedRequests: calls.unfinishedRequests(1),
    getRequest: calls.getRequest(1, 2),
    recentRequests: calls.recentRequests(1, 250),
    readBuild: calls.readBuild('vision', 1),
    readTimeline: calls.readTimeline('vision', 1),
    listQueues: calls.listQueues('two words'),
    createQueue: calls.createQueue('vision', { id: 1, name: 'gpu' }),
    readPermission: calls.readPermission('vision', 3),
    authorizeQueue: calls.authorizeQueue('vision', 3),
    runPipeline: calls.runPipeline('vision', 7),
    readRun: calls.readRun('vision', 7, 8),
    listProjects: calls.listProjects(1000),
    managedPools: calls.managedPools(),
    resourceUsage: calls.resourceUsage(),
    resourceLimits: calls.resourceLimits(),
    newestAgent: calls.newestAgent('linux-x64'),
  } satisfies Record<keyof typeof calls, unknown>;

  /** The contract does not have these resources. */
  const unpublished =
    /\/packages\/agent$|\/jobrequests|\/usercapabilities$|\/resource(?:usage|limits)$|\/runs(?:\/|$)|\/build\//u;

  test.each(Object.entries(made).filter(([, { path }]) => !unpublished.test(path)))('%s', (_, each) => {
    const operation = operationOf(each.method, each.path);
    if (operation === undefined) throw new Error(`no operation ${each.method} ${each.path}`);
    const known = [...operation.query.map(({ name }) => name), ...(lostParameters[keyOf(operation)] ?? [])];
    expect(known).toEqual(expect.arrayContaining(Object.keys(each.query ?? {})));
    expect(each.apiVersion ?? '7.1').toBe(operation.apiVersion);
    expect(each.body === undefined).toBe(operation.body === null);
    if (operation.body !== null) expect(against(operation.body, each.body)).toEqual([]);
  });
});
