// Any answer from any server: each call returns a value of its type, or a readable error.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { AzureAgent, AzureClient, JobRequest } from '../../../../src/shared/azure/client.ts';
import { createAzureClient } from '../../../../src/shared/azure/create-client.ts';
import { patCredential, requestToken } from '../../../../src/shared/azure/http/credential.ts';
import { poolOverviews } from '../../../../src/shared/azure/pools/overview.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { anyJson, damagedJson } from '../../../support/any-json.ts';
import { StillClock } from '../../../support/clock.ts';

const request = {
  requestId: 1,
  jobName: 'train',
  queueTime: '2026-11-21T02:00:00Z',
  demands: ['gpu'],
  result: 'succeeded',
  reservedAgent: { id: 7, name: 'a' },
  matchedAgents: [{ id: 7, enabled: true, status: 'online' }],
  owner: { id: 1, name: '2026.1', _links: { web: { href: 'https://dev.azure.com/lab' } } },
};
const agent = {
  id: 7,
  name: 'a',
  version: '4.275.0',
  enabled: true,
  status: 'online',
  statusChangedOn: '2026-11-21T02:00:00Z',
  systemCapabilities: { 'Agent.Version': '4' },
  userCapabilities: { gpu: '1' },
  assignedRequest: request,
  lastCompletedRequest: request,
  pendingUpdate: {},
  authorization: { clientId: 'c', authorizationUrl: 'https://a' },
  properties: { ServerUrl: { $value: 'https://a' } },
};
const pool = { id: 1, name: 'p', autoUpdate: false, isHosted: false, size: 1 };
const key = { exponent: 'AQAB', modulus: 'x' };
const registration = {
  name: 'a',
  version: '4',
  osDescription: 'Linux',
  systemCapabilities: {},
  publicKey: key,
};

function answering(text: string): AzureClient {
  return createAzureClient({
    organization: 'https://dev.azure.com/lab',
    credential: patCredential(new Secret('x')),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: new StillClock(),
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'application/json' } })),
  });
}

const calls: Readonly<
  Record<string, readonly [whole: unknown, call: (client: AzureClient) => Promise<unknown>]>
> = {
  'an agent': [agent, async (client) => expectAgent(await client.getAgent(1, 7))],
  'a list of agents': [
    { value: [agent, agent] },
    async (client) => (await client.listAgents(1)).forEach(expectAgent),
  ],
  'an agent that was replaced': [
    agent,
    async (client) => expectAgent(await client.replaceAgent(1, 7, registration)),
  ],
  'a request': [request, async (client) => expectRequest(await client.getRequest(1, 1))],
  'the queue of a pool': [
    { value: [request] },
    async (client) => (await client.unfinishedRequests(1)).forEach(expectRequest),
  ],
  'a pool': [
    { value: [{ ...pool, requestId: 1 }] },
    (client) => poolOverviews(client, ['p'], [], Date.now()),
  ],
  'a project': [{ value: [{ id: 1, pool }] }, (client) => client.findProject('vision')],
  'a permission': [
    { allPipelines: { authorized: true } },
    async (client) => expect(typeof (await client.isQueueAuthorized('vision', 1))).toBe('boolean'),
  ],
  'parallel jobs': [
    {
      resourceLimit: { totalCount: 1 },
      usedCount: 1,
      value: [{ parallelismTag: 'Private', isHosted: false, totalCount: 1 }],
    },
    (client) => client.parallelJobs(),
  ],
};

/** Each present member has its declared type. */
function expectAgent(answer: AzureAgent | undefined): void {
  if (answer === undefined) return;
  expect([typeof answer.id, typeof answer.name]).toEqual(['number', 'string']);
  for (const text of [answer.version, answer.status, answer.statusChangedOn, answer.authorization?.clientId])
    expect(['string', 'undefined']).toContain(typeof text);
  expect(['boolean', 'undefined']).toContain(typeof answer.enabled);
  for (const named of [answer.systemCapabilities, answer.userCapabilities])
    for (const value of Object.values(named ?? {})) expect(typeof value).toBe('string');
  void answer.properties?.['ServerUrl']?.$value;
  expectRequest(answer.assignedRequest);
  expectRequest(answer.lastCompletedRequest);
}

function expectRequest(answer: JobRequest | undefined): void {
  if (answer === undefined) return;
  expect(typeof answer.requestId).toBe('number');
  for (const text of [answer.jobName, answer.queueTime, answer.result, ...(answer.demands ?? [])])
    expect(['string', 'undefined']).toContain(typeof text);
  for (const { id } of answer.matchedAgents ?? []) expect(typeof id).toBe('number');
  void answer.owner?._links?.web?.href.length;
  void answer.owner?.name.length;
  void answer.reservedAgent?.name.length;
}

async function readable(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
  }
}

test.each(Object.entries(calls))('%s', async (_, [whole, call]) => {
  await call(answering(JSON.stringify(whole)));
  await fc.assert(
    fc.asyncProperty(fc.oneof(damagedJson(whole), anyJson), (text) => readable(call(answering(text)))),
    { numRuns: 300 },
  );
});

test('an answer with odd values in unimportant members is read', async () => {
  const odd = { ...agent, version: 5, statusChangedOn: {}, userCapabilities: { a: 1, b: 'x' } };
  const [answer] = await answering(JSON.stringify({ value: [odd] })).listAgents(1);
  expect(answer).toMatchObject({ name: 'a', enabled: true, userCapabilities: { b: 'x' } });
  expect([answer?.version, answer?.statusChangedOn]).toEqual([undefined, undefined]);
});

test.each([
  [
    'an agent',
    (client: AzureClient) => client.getAgent(1, 7),
    'cannot read agent 7 of pool 1: the answer contains no pool or agent',
  ],
  [
    'a list',
    (client: AzureClient) => client.listPools(),
    'cannot list the agent pools: the answer contains no list',
  ],
])('%s: an invalid answer is reported as such', async (_, call, what) => {
  await expect(call(answering('{"id":"7"}'))).rejects.toMatchObject({
    problem: { code: 'azure.unexpected', what },
  });
});

test('a token of Microsoft Entra ID', async () => {
  const whole = { access_token: 'x', expires_in: 3600, error: 'e', error_description: 'd' };
  const principal = { clientId: 'c', tenantId: 't', secret: new Secret('s'), clock: new StillClock() };
  await fc.assert(
    fc.asyncProperty(fc.oneof(damagedJson(whole), anyJson), fc.constantFrom(200, 400), (text, status) =>
      readable(
        requestToken(
          { ...principal, fetch: () => Promise.resolve(new Response(text, { status })) },
          new AbortController().signal,
        ).then(({ value, expiresInMs }) => {
          expect([typeof value.reveal(), typeof expiresInMs]).toEqual(['string', 'number']);
        }),
      ),
    ),
    { numRuns: 200 },
  );
});
