// Logging in as a service principal of Microsoft Entra ID. Entra and Azure DevOps are the fake server.
import { describe, expect, test } from 'vitest';
import type { AzureClient } from '../../../../../src/shared/azure/client.ts';
import { servicePrincipalCredential } from '../../../../../src/shared/azure/http/credential.ts';
import { systemClock, type Clock } from '../../../../../src/shared/base/clock.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { StillClock } from '../../../../support/clock.ts';
import { problem, useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
const list = (client: AzureClient) => client.listPools();

describe('a service principal', () => {
  const principal = (secret: string, clock: Clock = systemClock(1)) =>
    servicePrincipalCredential({
      clientId: 'c',
      tenantId: 't',
      secret: new Secret(secret),
      authority: fake.server.origin,
      fetch: (url, init) => {
        tokens += 1;
        return fetch(url, init);
      },
      clock,
    });
  let tokens = 0;

  test('one token serves many calls and is renewed before it ends', async () => {
    tokens = 0;
    const clock = new StillClock();
    const client = fake.client({ credential: principal('good-token', clock) });
    await Promise.all([list(client), list(client)]);
    clock.wallAhead += 24 * 3_600_000;
    await list(client);
    expect(tokens, 'a clock that is set ends no token').toBe(1);
    clock.wallAhead -= 48 * 3_600_000;
    clock.pass(56 * 60_000);
    await list(client);
    expect(tokens).toBe(2);
  });

  test('a token that the server does not take any more is replaced at once', async () => {
    tokens = 0;
    const client = fake.client({ credential: principal('good-token') });
    await list(client);
    await fake.control.fail({ count: 1, status: 203 });
    expect(await list(client)).not.toHaveLength(0);
    expect(tokens).toBe(2);
  });

  /** Entra answers each request with the next of these, then with a token. */
  const entra = (...answers: readonly (() => Response)[]) => {
    const clock = new StillClock();
    const pauses: number[] = [];
    let asked = 0;
    const credential = servicePrincipalCredential({
      clientId: 'c',
      tenantId: 't',
      secret: new Secret('s'),
      authority: 'https://login.example',
      fetch: () => {
        asked += 1;
        const answer = answers[Math.min(asked, answers.length) - 1];
        return Promise.resolve(
          asked > answers.length || answer === undefined
            ? Response.json({ access_token: 'x', expires_in: 3600 })
            : answer(),
        );
      },
      clock,
      onPause: (ms) => pauses.push(ms),
    });
    const signal = new AbortController().signal;
    return { get: () => credential.authorization(signal), clock, pauses, asked: () => asked };
  };
  const times = (count: number, answer: () => Response) => Array.from({ length: count }, () => answer);
  const busy = (retryAfter?: string) => () =>
    new Response('{}', {
      status: 429,
      headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    });

  test.each([
    ['429', busy()],
    ['500', () => new Response('', { status: 500 })],
    ['502', () => new Response('<html>', { status: 502 })],
    ['503', () => new Response('', { status: 503 })],
    ['504', () => new Response('', { status: 504 })],
  ])('what passes is tried again: %s', async (_, answer) => {
    const { get, asked } = entra(answer, answer);
    expect((await get()).reveal()).toBe('Bearer x');
    expect(asked()).toBe(3);
  });

  test('a pause that Entra ID requests is kept; one of an hour is an error', async () => {
    const short = entra(busy('7'));
    await short.get();
    expect(short.clock.waits).toEqual([7000]);
    expect(short.pauses, 'the user sees why it waits').toEqual([7000]);
    const shortest = entra(busy('1'));
    await shortest.get();
    expect(shortest.pauses).toEqual([]);
    expect(await problem(entra(busy('3600')).get())).toMatchObject({
      code: 'azure.throttled',
      seen: 'the server requests a pause of 60 minutes',
      next: 'wait 60 minutes and run it again',
    });
  });

  test("a date is read by Entra ID's own clock, and a long pause is an error with any status", async () => {
    const headers = { date: 'Sat, 21 Nov 2020 02:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2020 02:00:09 GMT' };
    const dated = entra(() => new Response('', { status: 503, headers }));
    await dated.get();
    expect(dated.clock.waits).toEqual([9000]);
    const long = entra(() => new Response('', { status: 503, headers: { 'retry-after': '1800' } }));
    expect(await problem(long.get())).toMatchObject({
      seen: 'the server requests a pause of 30 minutes',
      next: 'wait 30 minutes and run it again',
    });
  });

  test.each<[string, () => Response, string]>([
    ['400', () => Response.json({ error: 'invalid_request' }, { status: 400 }), 'azure.auth'],
    ['401', () => Response.json({ error: 'invalid_client' }, { status: 401 }), 'azure.auth'],
    ['403 of something in between', () => new Response('<html>', { status: 403 }), 'azure.unexpected'],
    ['200 of a portal', () => new Response('<html>Welcome'), 'azure.unexpected'],
    ['429 for good', busy(), 'azure.throttled'],
    ['503 for good', () => new Response('', { status: 503 }), 'azure.server-error'],
    ['500 for good', () => new Response('', { status: 500 }), 'azure.server-error'],
  ])('%s: the secret is blamed only where Entra ID blames it', async (_, answer, code) => {
    expect(await problem(entra(...times(9, answer)).get())).toMatchObject({ code });
  });

  test('a wrong secret is reported with the text of Entra ID', async () => {
    const client = fake.client({ credential: principal('wrong') });
    expect(await problem(list(client))).toMatchObject({
      code: 'azure.auth',
      seen: 'AADSTS7000215: Invalid client secret provided.',
    });
  });
});
