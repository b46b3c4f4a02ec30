// Each line is something that is known of the real service, and how the client takes it. The server is the fake.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/machine/clock.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { AzureClient } from '../../../src/azure/client.ts';
import { patCredential } from '../../../src/azure/http/credential.ts';
import { generateAgentKey, type AgentKey } from '../../../src/azure/keys.ts';
import { timeoutMs } from '../../../src/azure/http/rest.ts';
import type { Fault } from '../../../src/azure/fake/control/control.ts';
import { StillClock } from '../../support/clock.ts';
import { newAgent, problem, useFake } from './fake/server.ts';

/** Waits no longer than a read here lags behind a write. */
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

describe('a refused credential, however it is dressed', () => {
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

  test('a web page under status 200 (a portal in between)', async () => {
    const page = () =>
      Promise.resolve(new Response('<html>Welcome', { headers: { 'content-type': 'text/html' } }));
    expect(await problem(list(fake.client({ fetch: page })))).toMatchObject({ code: 'azure.auth' });
  });

  test('a wrong token', async () => {
    const client = fake.client({ credential: patCredential(new Secret('wrong')) });
    expect(await problem(list(client))).toMatchObject({ code: 'azure.auth' });
  });

  test('401: an expired token is called that, with the cure', async () => {
    await fake.control.setToken('expired');
    expect(await problem(list(fake.client()))).toMatchObject({
      code: 'azure.auth',
      what: expect.stringContaining('has expired'),
      next: expect.stringContaining('then run "azp-fleet provision"'),
    });
  });

  test('a token that was replaced in its file is taken up with the first refusal', async () => {
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

describe('what the credential may not do', () => {
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

describe('throttling and trouble', () => {
  test('Retry-After with status 200 delays the next call', async () => {
    const client = fake.client();
    await fake.control.fail({ count: 1, retryAfterS: 7 });
    await list(client);
    expect(fake.pauses).toEqual([]);
    await list(client);
    expect(fake.pauses[0]).toBeGreaterThan(6500);
    expect(fake.pauses[0]).toBeLessThanOrEqual(7000);
  });

  test('429 with Retry-After is waited for and repeated, also for a POST', async () => {
    await fake.control.fail({ count: 1, status: 429, retryAfterS: 3, method: 'POST' });
    expect(await fake.client().ensurePool('throttled')).toMatchObject({ created: true });
    expect(fake.pauses[0]).toBe(3000);
  });

  test.each([
    ['a day behind', -24 * 3_600_000],
    ['a day ahead', 24 * 3_600_000],
  ])('a date in Retry-After is by the clock of the server; ours is %s', async (_, ahead) => {
    const clock = new StillClock();
    clock.wallAhead += ahead;
    const server = Date.parse('2026-11-21T12:00:00Z');
    const date = (ms: number) => new Date(server + ms).toUTCString();
    const answers = [
      new Response('{}', { status: 429, headers: { date: date(0), 'retry-after': date(9000) } }),
      new Response('{"value":[]}', { headers: { date: date(9000) } }),
    ];
    await list(fake.client({ clock, fetch: () => Promise.resolve(answers.shift() ?? Response.error()) }));
    expect(clock.waits).toEqual([9000]);
  });

  test('a pause that was asked for is kept, however the clock is set meanwhile', async () => {
    const clock = new StillClock();
    const client = fake.client({ clock });
    await fake.control.fail({ count: 1, retryAfterS: 7 });
    await list(client);
    clock.wallAhead -= 24 * 3_600_000;
    clock.pass(2000);
    await list(client);
    expect(clock.waits).toEqual([5000]);
  });

  test('429 for good is reported as what it is', async () => {
    await fake.control.fail({ count: 20, status: 429 });
    expect(await problem(list(fake.client()))).toMatchObject({
      code: 'azure.throttled',
      seen: expect.stringContaining('TF400733'),
    });
  });

  test.each([502, 503, 504])('a GET is repeated after %i', async (status) => {
    await fake.control.fail({ count: 2, status });
    expect(await list(fake.client())).not.toHaveLength(0);
    expect(fake.pauses).toHaveLength(2);
  });

  test('a GET is repeated after a closed connection', async () => {
    await fake.control.fail({ count: 1, drop: 'before' });
    expect(await list(fake.client())).not.toHaveLength(0);
  });

  test('a server that knows only older versions of the interface is called that', async () => {
    const old = () =>
      Promise.resolve(
        Response.json({ message: 'out of range', typeKey: 'VssVersionOutOfRangeException' }, { status: 400 }),
      );
    expect(await problem(list(fake.client({ fetch: old })))).toMatchObject({
      code: 'azure.server-too-old',
      next: expect.stringContaining('7.1'),
    });
  });

  test('500 is not repeated', async () => {
    await fake.control.fail({ count: 1, status: 500 });
    expect(await problem(list(fake.client()))).toMatchObject({ code: 'azure.server-error' });
  });

  test('a server that is not there', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const client = fake.client({ organization: `http://127.0.0.1:${port}/lab` });
    expect(await problem(list(client))).toMatchObject({
      code: 'azure.unreachable',
      seen: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('the client waits longer than the 30 s by which the service may delay an answer', () => {
    expect(timeoutMs).toBeGreaterThan(60_000);
  });

  test('an answer that is delayed is waited for', async () => {
    await fake.control.fail({ count: 1, delayMs: 300 });
    expect(await list(fake.client({ timeoutMs: 20_000 }))).not.toHaveLength(0);
    expect(fake.pauses).toEqual([]);
  });

  test('one that does not come in time is asked for three times, then the organization does not answer', async () => {
    await fake.control.fail({ count: 3, delayMs: 60_000 });
    expect(await problem(list(fake.client({ timeoutMs: 100 })))).toMatchObject({
      code: 'azure.unreachable',
      seen: 'no answer in time',
      next: expect.stringContaining('check the network'),
    });
    expect(fake.pauses).toHaveLength(2);
    expect(await list(fake.client({ timeoutMs: 20_000 }))).not.toHaveLength(0);
  });
});

describe('registration', () => {
  test('the answer to a POST got lost: the agent is found by name and not made twice', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('lost');
    await fake.control.fail({ count: 1, method: 'POST', path: '/agents$', drop: 'after' });
    const agent = await client.createAgent(pool.id, newAgent('l-0', key));
    expect(agent.authorization?.authorizationUrl).toBeDefined();
    expect(await client.listAgents(pool.id)).toHaveLength(1);
  });

  test('a POST that was not carried out is repeated', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('unsent');
    await fake.control.fail({ count: 1, method: 'POST', path: '/agents$', drop: 'before' });
    await client.createAgent(pool.id, newAgent('u-0', key));
    expect(await client.listAgents(pool.id)).toHaveLength(1);
  });

  test('the answer to the POST of a pool got lost while reads lag: it is still ours, with updates off', async () => {
    await fake.control.settle(40);
    await fake.control.fail({ count: 1, method: 'POST', path: '/pools$', drop: 'after' });
    expect(await fake.client({ clock: impatient }).ensurePool('lost-pool')).toMatchObject({
      created: true,
      pool: { autoUpdate: false },
    });
  });

  test('reads lag behind writes: a new pool is waited for', async () => {
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
  test('asks for no redirect, names its version, and never puts the token into the URL', async () => {
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

  test('a byte order mark before the JSON is no harm', async () => {
    const marked = () =>
      Promise.resolve(
        new Response('\uFEFF{"count":0,"value":[]}', { headers: { 'content-type': 'application/json' } }),
      );
    expect(await list(fake.client({ fetch: marked }))).toEqual([]);
  });

  test('an abort ends a running request as an abort', async () => {
    const controller = new AbortController();
    await fake.control.fail({ count: 1, delayMs: 60_000 });
    const running = list(fake.client({ signal: controller.signal }));
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  });
});
