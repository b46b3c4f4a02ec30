// Microsoft's own client for Node, unmodified, against the practice server. Each row is one call, what it must give,
// and who says so.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebApi, getPersonalAccessTokenHandler } from 'azure-devops-node-api';
import { locations } from '../../../../practice/azure/discovery/locations.ts';
import { agentCalls } from '../../../support/node-client/agent-calls.ts';
import { discoveryCalls } from '../../../support/node-client/discovery-calls.ts';
import { poolCalls } from '../../../support/node-client/pool-calls.ts';
import { queueCalls } from '../../../support/node-client/queue-calls.ts';
import { clientWorld, refusal, type ClientWorld } from '../../../support/node-client/world.ts';
import { useFake } from './server.ts';

const fake = useFake();
let world: ClientWorld;
beforeAll(async () => {
  world = await clientWorld(fake.server.organization, 'good-token', fake.control);
});
afterAll(() => world.close());

const calls = [...discoveryCalls, ...poolCalls, ...agentCalls, ...queueCalls];

describe.each([
  ['discovery and projects', discoveryCalls],
  ['pools', poolCalls],
  ['agents', agentCalls],
  ['queues, requests, permissions, sessions, versions', queueCalls],
])('%s', (_, group) => {
  test.each(group)('$name ($source)', async ({ call, shape }) => {
    const result: unknown = await call(world);
    if (typeof shape === 'object' && shape !== null && !('asymmetricMatch' in shape)) {
      expect(result).toMatchObject(shape);
    } else {
      expect(result).toEqual(shape);
    }
  });
});

test('they are many, and none is there twice', () => {
  expect(calls.length).toBeGreaterThanOrEqual(50);
  expect(new Set(calls.map(({ name }) => name)).size).toBe(calls.length);
});

test('every source that lies beside the tests has what is said to be there', () => {
  const read = (file: string) => readFileSync(`test/fixtures/azure/${file}`, 'utf8');
  const contract = Object.values(
    (JSON.parse(read('contract.json')) as { operations: readonly { method: string; path: string }[] })
      .operations,
  ).map(({ method, path }) => `contract ${method} ${path}`);
  const recorded = read('recordings.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { method: string; url: string })
    .map(({ method, url }) => `recorded ${method} ${new URL(url).pathname.replace(/^\/[^/]+/u, '')}`);
  const known = new Set([
    ...contract,
    ...recorded,
    ...locations.map((each) => `locations ${each.resourceName}`),
  ]);
  const declared = /^(?:client|agent) \w/u;
  expect(
    calls.map(({ source }) => source).filter((each) => !known.has(each) && !declared.test(each)),
  ).toEqual([]);
});

describe('a token, as the client sends it', () => {
  test('by the handler for personal access tokens', async () => {
    const web = new WebApi(fake.server.organization, getPersonalAccessTokenHandler('good-token'));
    expect(await web.connect()).toMatchObject({ deploymentType: 'hosted' });
  });

  test('a wrong one is 401: the client asks not to be sent to the sign-in page', async () => {
    const web = new WebApi(fake.server.organization, getPersonalAccessTokenHandler('bad-token'));
    expect(await refusal(web.getTaskAgentApi())).toMatchObject({
      statusCode: 401,
      message: expect.stringContaining('TF400813'),
    });
  });

  test('an expired one is 401', async () => {
    await fake.control.setToken('expired');
    const web = new WebApi(fake.server.organization, getPersonalAccessTokenHandler('good-token'));
    expect(await refusal(web.getTaskAgentApi())).toMatchObject({ statusCode: 401 });
  });
});
