// Facts about the real service, and how the client handles them. The server is the practice server.
import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import fc from 'fast-check';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import type { AzureClient } from '../../../../src/shared/azure/client.ts';
import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { generateAgentKey, type AgentKey } from '../../../../src/shared/azure/keys.ts';
import type { Fault } from '../../../../practice/azure/control/control.ts';
import { anyJson, damagedJson } from '../../../support/any-json.ts';
import { newAgent, problem, useFake } from '../../practice/azure/server.ts';

/** Waits at most as long as reads lag behind writes here. */
const impatient = {
  ...systemClock(1),
  wait: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.min(ms, 20))),
};
const fake = useFake();
let key: AgentKey;
beforeAll(async () => {
  key = await generateAgentKey();
});

const list = (client: AzureClient) => client.listPools();

describe('a refused credential in each form', () => {
  test.each<[string, Fault]>([
    ['203 with the sign-in page', { count: 1, status: 203 }],
    ['302 to the sign-in page', { count: 1, status: 302 }],
  ])('%s', async (_, fault) => {
    await fake.control.fail(fault);
    expect(await problem(list(fake.client()))).toMatchObject({
      code: 'azure.auth',
      next: expect.stringContaining('Agent Pools (Read & manage)'),
    });
  });

  test('a web page with status 200 (a portal in between)', async () => {
    const page = () =>
      Promise.resolve(new Response('<html>Welcome', { headers: { 'content-type': 'text/html' } }));
    expect(await problem(list(fake.client({ fetch: page })))).toMatchObject({ code: 'azure.auth' });
  });

  test('a wrong token', async () => {
    const client = fake.client({ credential: patCredential(new Secret('wrong')) });
    expect(await problem(list(client))).toMatchObject({ code: 'azure.auth' });
  });

  test('401: an expired token is reported with its fix', async () => {
    await fake.control.setToken('expired');
    expect(await problem(list(fake.client()))).toMatchObject({
      code: 'azure.auth',
      what: expect.stringContaining('has expired'),
      next: expect.stringContaining('then run `azp-fleet provision`'),
    });
  });

  test('a replaced token file is read again after the first refusal', async () => {
    let stored = 'old-token';
    const credential = patCredential(() => Promise.resolve(new Secret(stored)));
    const client = fake.client({ credential });
    expect(await problem(list(client))).toMatchObject({ code: 'azure.auth' });
    writeFileSync(fake.tokenFile, 'good-token\nold-token\n');
    expect(await list(client)).not.toHaveLength(0);
    stored = 'next-token';
    writeFileSync(fake.tokenFile, 'good-token\nnext-token\n');
    expect(await list(client)).not.toHaveLength(0);
  });
});

describe('missing permissions', () => {
  test('403 when creating a pool names the role', async () => {
    await fake.control.deny(['pools.create']);
    expect(await problem(fake.client().ensurePool('forbidden'))).toMatchObject({
      code: 'azure.permission',
      what: 'cannot create agent pool forbidden',
      next: expect.stringContaining('Administrator role'),
    });
  });

  test('403 when permitting pipelines names the scope', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('permissions');
    const queue = await client.createQueue('vision', pool);
    await fake.control.deny(['queues.authorize']);
    expect(await problem(client.authorizeQueue('vision', queue.id))).toMatchObject({
      code: 'azure.permission',
      next: expect.stringContaining('Pipeline Resources (Use and manage)'),
    });
  });
});

describe('registration', () => {
  test('the answer to a POST got lost: the agent is found by name and not created twice', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('lost');
    await fake.control.fail({ count: 1, method: 'POST', path: '/agents$', drop: 'after' });
    const agent = await client.createAgent(pool.id, newAgent('l-0', key));
    expect(agent.authorization?.authorizationUrl).toBeDefined();
    expect(await client.listAgents(pool.id)).toHaveLength(1);
  });

  test('a POST without effect is repeated', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('unsent');
    await fake.control.fail({ count: 1, method: 'POST', path: '/agents$', drop: 'before' });
    await client.createAgent(pool.id, newAgent('u-0', key));
    expect(await client.listAgents(pool.id)).toHaveLength(1);
  });

  test('the answer to the POST of a pool got lost while reads lag: the pool is ours, with updates off', async () => {
    await fake.control.settle(40);
    await fake.control.fail({ count: 1, method: 'POST', path: '/pools$', drop: 'after' });
    expect(await fake.client({ clock: impatient }).ensurePool('lost-pool')).toMatchObject({
      created: true,
      pool: { autoUpdate: false },
    });
  });

  test('reads lag behind writes: the client waits for a new pool', async () => {
    await fake.control.settle(60);
    const { pool } = await fake.client({ clock: impatient }).ensurePool('lagging');
    expect(pool).toMatchObject({ name: 'lagging', autoUpdate: false });
    expect(await fake.client().findPool('lagging')).toMatchObject({ autoUpdate: false });
  });

  test('autoUpdate in the POST of a pool is ignored: a PATCH follows', async () => {
    const before = (await fake.control.requests()).at(-1)?.n ?? 0;
    await fake.client().ensurePool('patched');
    const writes = (await fake.control.requests(before)).filter(({ method }) => method !== 'GET');
    expect(writes.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
  });
});

describe('the request itself', () => {
  test('follows no redirect, sends its version, and never puts the token into the URL', async () => {
    let seen: { url: string; headers: Record<string, string>; redirect: string } | undefined;
    const client = fake.client({
      userAgent: 'azp-fleet/1.2.3',
      fetch: (url, init) => {
        seen = { url, headers: init.headers, redirect: init.redirect };
        return fetch(url, init);
      },
    });
    await client.findPool('a&b c');
    expect(seen?.url).toBe(
      `${fake.server.organization}/_apis/distributedtask/pools?api-version=7.1&poolName=a%26b+c`,
    );
    expect(seen?.redirect).toBe('manual');
    expect(seen?.headers).toMatchObject({
      'user-agent': 'azp-fleet/1.2.3',
      'x-tfs-fedauthredirect': 'Suppress',
    });
    expect(seen?.headers['authorization']).toBe(`Basic ${Buffer.from(':good-token').toString('base64')}`);
  });

  test('a byte order mark before the JSON is ignored', async () => {
    const marked = () =>
      Promise.resolve(
        new Response('\uFEFF{"count":0,"value":[]}', { headers: { 'content-type': 'application/json' } }),
      );
    expect(await list(fake.client({ fetch: marked }))).toEqual([]);
  });

  test('null in an answer counts as absent', async () => {
    const pool = { id: 3, name: 'gpu', autoUpdate: null, size: null };
    const agent = {
      id: 4,
      name: 'a',
      enabled: true,
      status: 'offline',
      assignedRequest: null,
      pendingUpdate: null,
    };
    const nulls = (url: string) =>
      Promise.resolve(Response.json({ count: 1, value: [url.includes('/agents') ? agent : pool] }));
    const client = fake.client({ fetch: nulls });
    expect(await list(client)).toEqual([{ id: 3, name: 'gpu' }]);
    expect(await client.listAgents(3)).toEqual([{ id: 4, name: 'a', enabled: true, status: 'offline' }]);
  });

  test('a JSON answer without a body is not a sign-in page', async () => {
    const empty = () =>
      Promise.resolve(new Response('', { headers: { 'content-type': 'application/json; charset=utf-8' } }));
    const client = fake.client({ fetch: empty });
    await expect(client.setAgentEnabled(1, 2, false)).resolves.toBeUndefined();
    expect(await problem(list(client))).toMatchObject({
      code: 'azure.unexpected',
      what: 'cannot list the agent pools: the answer contains no list',
    });
  });

  test('any JSON answer gives a valid value or an error with a code', async () => {
    const agents = {
      count: 1,
      value: [{ id: 4, name: 'a', enabled: true, assignedRequest: { requestId: 1 } }],
    };
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyJson, damagedJson(agents)), async (text) => {
        const answer = () =>
          Promise.resolve(new Response(text, { headers: { 'content-type': 'application/json' } }));
        const client = fake.client({ fetch: answer });
        const asked = [
          client.findPool('A'),
          client.findAgent(1, 'A'),
          client.findProject('A'),
          client.unfinishedRequests(1),
          client.isQueueAuthorized('A', 1),
          client.parallelJobs(),
        ];
        for (const result of await Promise.allSettled(asked))
          if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(FleetError);
      }),
      { numRuns: 60 },
    );
  });

  test('an abort ends a running request as an abort', async () => {
    const controller = new AbortController();
    await fake.control.fail({ count: 1, delayMs: 60_000 });
    const running = list(fake.client({ signal: controller.signal }));
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  });
});
