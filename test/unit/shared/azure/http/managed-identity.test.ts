// Logging in with the identity of the machine. The metadata service and Azure Arc's agent are the practice server.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { readTrusted } from '../../../../../src/manager/machine/files.ts';
import { createFetch, type Fetch } from '../../../../../src/shared/azure/http/proxy.ts';
import { managedIdentityCredential } from '../../../../../src/shared/azure/http/managed-identity.ts';
import { StillClock } from '../../../../support/clock.ts';
import { problem, useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
const keys = mkdtempSync(join(tmpdir(), 'arc-'));
writeFileSync(join(keys, 'elsewhere'), 'secret');
symlinkSync(join(keys, 'elsewhere'), join(keys, 'link.key'));
afterAll(() => rmSync(keys, { recursive: true }));
beforeEach(() => fake.control.setMachine({ vm: { clientId: 'user-assigned' } }));

const direct = createFetch({ noProxy: [] });
const wrongKey = { authorization: 'Basic another' };
function identity(of: { clientId?: string; arc?: true }, fetch: Fetch = direct) {
  const clock = new StillClock();
  let asked = 0;
  const read: string[] = [];
  const credential = managedIdentityCredential({
    ...of,
    clock,
    fetch: (url, init) => {
      asked += 1;
      return fetch(url, init);
    },
    readTrusted: (path, most) => {
      read.push(path);
      return readTrusted(path, most);
    },
    places: { vm: fake.server.origin, arc: fake.server.origin, keys },
  });
  return {
    list: () => fake.client({ credential }).listPools(),
    get: () => credential.authorization(new AbortController().signal),
    asked: () => asked,
    read,
    clock,
  };
}

describe('a token of the machine', () => {
  test.each([
    ['an Azure VM', {}, 1],
    ['an Azure VM with a user-assigned identity', { clientId: 'user-assigned' }, 1],
    ['Azure Arc, which names a file that root can read', { arc: true as const }, 2],
  ])('from %s is kept until five minutes before its end', async (_, of, requests) => {
    if ('arc' in of) await fake.control.setMachine({ arc: { keys } });
    const { list, asked, clock } = identity(of);
    expect(await list()).not.toHaveLength(0);
    await list();
    expect(asked()).toBe(requests);
    clock.pass(56 * 60_000);
    await list();
    expect(asked()).toBe(2 * requests);
  });

  test('an identity that the machine does not have is refused by name', async () => {
    expect(await problem(identity({ clientId: 'other' }).list())).toMatchObject({
      code: 'azure.auth',
      seen: 'HTTP 400: Identity not found',
      next: 'check that the machine has this identity (Azure portal: the machine > Identity), and clientId',
    });
  });

  test('a machine that is no Azure VM', async () => {
    const refused = identity({}, () => Promise.reject(new Error('connect EHOSTUNREACH')));
    expect(await problem(refused.get())).toMatchObject({
      code: 'azure.unreachable',
      next: 'use managedIdentity on Azure VMs only; with Azure Arc set `managedIdentity: { arc: true }`',
    });
  });

  test.each([404, 410, 429, 500, 503])('%i is temporary', async (status) => {
    let count = 0;
    const { get, asked } = identity({}, (url, init) => {
      count += 1;
      return count < 3 ? Promise.resolve(new Response('{}', { status })) : direct(url, init);
    });
    expect((await get()).reveal()).toMatch(/^Bearer /);
    expect(asked()).toBe(3);
  });

  test.each([
    [429, 'azure.throttled', 5],
    [503, 'azure.server-error', 5],
    [404, 'azure.server-error', 5],
    [403, 'azure.auth', 1],
    [302, 'azure.unexpected', 1],
  ])('%i that stays is %s', async (status, code, requests) => {
    const { get, asked } = identity({}, () => Promise.resolve(new Response('{}', { status })));
    expect(await problem(get())).toMatchObject({ code, seen: `HTTP ${status}` });
    expect(asked()).toBe(requests);
  });

  test.each([
    ['an empty token', { access_token: '', expires_in: '3599' }],
    ['a token with a line break', { access_token: 'a\nb', expires_in: '3599' }],
    ['a life that is no number', { access_token: 'a', expires_in: 'long' }],
    ['a life of nothing', { access_token: 'a', expires_in: '0' }],
  ])('%s is no token', async (_, body) => {
    const { get } = identity({}, () => Promise.resolve(Response.json(body)));
    expect((await problem(get()))?.code).toBe('azure.unexpected');
  });
});

describe("who listens on Azure Arc's port gets no other file of the machine", () => {
  test.each([
    ['no challenge', ''],
    ['another folder', 'Basic realm=/etc/azp-fleet/token.key'],
    ['a way out of the folder', `Basic realm=${keys}/../token.key`],
    ['a folder below', `Basic realm=${keys}/a/b.key`],
    ['another ending', `Basic realm=${keys}/a.pem`],
    ['a hidden file', `Basic realm=${keys}/.key`],
    ['another scheme', `Digest realm=${keys}/a.key`],
    ['a longer name', `Basic realm=${keys}/${'a'.repeat(600)}.key`],
  ])('%s', async (_, challenge) => {
    const { get, read } = identity({ arc: true }, () =>
      Promise.resolve(new Response('{}', { status: 401, headers: { 'www-authenticate': challenge } })),
    );
    expect(await problem(get())).toMatchObject({
      code: 'azure.auth',
      what: "the challenge of Azure Arc's agent names no key of its folder",
    });
    expect(read).toEqual([]);
  });

  test.each(['missing.key', 'link.key'])('a key that is missing or a link: %s', async (name) => {
    const challenge = `Basic realm=${keys}/${name}`;
    const { get, asked } = identity({ arc: true }, () =>
      Promise.resolve(new Response('{}', { status: 401, headers: { 'www-authenticate': challenge } })),
    );
    expect(await problem(get())).toMatchObject({
      code: 'azure.auth',
      what: "the key of Azure Arc's agent cannot be read",
    });
    expect(asked()).toBe(1);
  });
});

test('a key that Azure Arc does not accept', async () => {
  await fake.control.setMachine({ arc: { keys } });
  const { get } = identity({ arc: true }, (url, init) =>
    direct(url, { ...init, headers: { ...init.headers, ...(init.headers['authorization'] && wrongKey) } }),
  );
  expect(await problem(get())).toMatchObject({ code: 'azure.auth', seen: 'HTTP 401: Wrong challenge' });
});
