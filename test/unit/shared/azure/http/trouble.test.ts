// Throttling and trouble, as the service has them, and how the client takes it. The server is the fake.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { AzureClient } from '../../../../../src/shared/azure/client.ts';
import type { Fault } from '../../../../../practice/azure/control/control.ts';
import { type LogLevel, silentLogger } from '../../../../../src/shared/base/log.ts';
import { timeoutMs } from '../../../../../src/shared/azure/http/rest.ts';
import { StillClock } from '../../../../support/clock.ts';
import { problem, useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
const list = (client: AzureClient) => client.listPools();

describe('throttling and trouble', () => {
  test('Retry-After with status 200 delays the next call', async () => {
    const clock = new StillClock();
    const client = fake.client({ clock });
    await fake.control.fail({ count: 1, retryAfterS: 7 });
    await list(client);
    expect(clock.waits).toEqual([]);
    await list(client);
    expect(clock.waits).toEqual([7000]);
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

  test('a pause that was asked for is kept, even if the clock is set during it', async () => {
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

  test('one that has the interface only as a preview is called that, too', async () => {
    const preview = () =>
      Promise.resolve(
        Response.json(
          { message: 'is under preview', typeKey: 'VssInvalidPreviewVersionException' },
          { status: 400 },
        ),
      );
    expect(await problem(list(fake.client({ fetch: preview })))).toMatchObject({
      code: 'azure.server-too-old',
    });
  });

  // Recorded from the live service in April 2026, with its byte order mark.
  test('a deactivated organization is reported at once, with the fix', async () => {
    let asked = 0;
    const message =
      'TF24668: The following team project collection is stopped: Lab. Start the collection and then try again. Administrator Reason: This Azure DevOps organization has been deactivated due to inactivity.';
    const asleep = () => {
      asked += 1;
      const body = `\uFEFF${JSON.stringify({ $id: '1', innerException: null, message, typeKey: 'VssServiceException' })}`;
      const headers = {
        'content-type': 'application/json',
        'x-tfs-serviceerror': encodeURIComponent(message),
      };
      return Promise.resolve(new Response(body, { status: 503, headers }));
    };
    expect(await problem(list(fake.client({ fetch: asleep })))).toMatchObject({
      code: 'azure.deactivated',
      what: 'cannot list the agent pools: the organization is deactivated',
      seen: message,
      next: expect.stringContaining(`sign in to ${fake.server.organization} in a browser as its owner`),
    });
    expect(asked).toBe(1);
  });

  test.each<[string, Fault]>([
    ['a refusal', { count: 1, status: 429, retryAfterS: 600 }],
    ['trouble', { count: 1, status: 503, retryAfterS: 600 }],
  ])('a pause of ten minutes after %s is not waited for', async (_, fault) => {
    await fake.control.fail(fault);
    expect(await problem(list(fake.client()))).toMatchObject({
      code: 'azure.throttled',
      what: 'cannot list the agent pools: Azure DevOps asks for a pause of 10 minutes',
      seen: 'Retry-After: 600 s',
      next: expect.stringMatching(/^run it again in 10 minutes/u),
    });
    expect(fake.pauses).toEqual([]);
  });

  /** X-RateLimit-Reset in this many seconds. */
  const reset = (seconds: number) => ({
    'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + seconds),
  });

  test('nor after a success, when the next call comes and the rate limit agrees', async () => {
    const client = fake.client();
    await fake.control.fail({ count: 1, retryAfterS: 600, headers: reset(700) });
    expect(await list(client)).not.toHaveLength(0);
    expect(await problem(list(client))).toMatchObject({ code: 'azure.throttled' });
  });

  test.each<[string, number, Omit<Fault, 'count'>]>([
    ['five minutes', 120_000, { retryAfterS: 300 }],
    ['a day', 30_000, { retryAfterS: 86_400 }],
    ['a day that ends later than the rate limit', 30_000, { retryAfterS: 86_400, headers: reset(60) }],
    ['eleven days', 30_000, { headers: { 'retry-after': '1e6' } }],
    ['a date in a year', 30_000, { headers: { 'retry-after': new Date(Date.now() + 3e10).toUTCString() } }],
    ['no time', 0, { headers: { 'retry-after': 'soon' } }],
    ['a negative time', 0, { headers: { 'retry-after': '-5' } }],
  ])('a success that asks for %s delays the next call by %i ms at most', async (_, ms, fault) => {
    const clock = new StillClock();
    clock.wallAhead = Date.now();
    const logged: string[] = [];
    const log = {
      ...silentLogger,
      log: (level: LogLevel, message: string) => void (level === 'warn' && logged.push(message)),
    };
    const client = fake.client({ clock, log });
    for (let round = 0; round < 2; round += 1) {
      await fake.control.fail({ count: 1, ...fault });
      await list(client);
      expect(client.oddPause).toBeDefined();
    }
    expect(await list(client)).not.toHaveLength(0);
    expect(clock.waits).toHaveLength(ms === 0 ? 0 : 2);
    expect(clock.waits.filter((wait) => wait < ms / 2 || wait > ms)).toEqual([]);
    expect(client.oddPause).toBeUndefined();
    expect(logged).toHaveLength(1);
  });

  test('a day is a quarter of an hour where the rate limit ends after that', async () => {
    const clock = new StillClock();
    clock.wallAhead = Date.now();
    const client = fake.client({ clock });
    await fake.control.fail({ count: 1, retryAfterS: 86_400, headers: reset(86_400) });
    await list(client);
    expect(await problem(list(client))).toMatchObject({
      code: 'azure.throttled',
      what: expect.stringContaining('asks for a pause of 15 minutes'),
    });
    clock.pass(15 * 60_000);
    expect(await list(client)).not.toHaveLength(0);
  });

  test('a refusal that asks for a pause delays all calls of its identity', async () => {
    const clock = new StillClock();
    clock.wallAhead = Date.now();
    const client = fake.client({ clock });
    await fake.control.fail({ count: 1, status: 503, retryAfterS: 600 });
    expect((await problem(list(client)))?.code).toBe('azure.throttled');
    expect(await list(client)).not.toHaveLength(0);
    const [wait = 0] = clock.waits;
    expect(wait).toBeGreaterThanOrEqual(60_000);
    expect(wait).toBeLessThanOrEqual(120_000);
  });

  test('a server that asks for a day is asked again within 30 s, not by all managers at once', async () => {
    const clock = new StillClock();
    clock.wallAhead = Date.now();
    const client = fake.client({ clock });
    for (let turn = 0; turn < 20; turn += 1) {
      await fake.control.fail({ count: 1, retryAfterS: 86_400 });
      await list(client);
    }
    await list(client);
    expect(Math.max(...clock.waits)).toBeLessThanOrEqual(30_000);
    expect(new Set(clock.waits).size).toBeGreaterThan(10);
  });

  test('a long pause is reported, a short one is not', async () => {
    const pauses: number[] = [];
    const clock = new StillClock();
    const client = fake.client({ clock, onPause: (ms) => pauses.push(ms) });
    await fake.control.fail({ count: 1, status: 429, retryAfterS: 45 });
    await list(client);
    await fake.control.fail({ count: 1, status: 429, retryAfterS: 1 });
    await list(client);
    expect(pauses).toEqual([45_000]);
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
    expect(await list(fake.client({ timeoutMs: 180_000 }))).not.toHaveLength(0);
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
    expect(await list(fake.client({ timeoutMs: 180_000 }))).not.toHaveLength(0);
  });
});
