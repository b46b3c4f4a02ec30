// The practice server as the identity of a machine refuses what an Azure VM's metadata service and Azure Arc's agent refuse.
import type { IncomingMessage } from 'node:http';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { machineToken } from '../../../../../practice/azure/http/machine-identity.ts';
import { bareWorld } from '../bare-world.ts';
import { useFake } from '../server.ts';

const fake = useFake();
const keys = mkdtempSync(join(tmpdir(), 'arc-'));
afterAll(() => rmSync(keys, { recursive: true }));

const resource = '499b84ac-1321-427f-aa17-267ca6975798';
const metadata = { metadata: 'true' };

async function ask(
  query: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = metadata,
  method = 'GET',
) {
  const asked = new URLSearchParams({ resource, ...query });
  const url = `${fake.server.origin}/metadata/identity/oauth2/token?${asked.toString()}`;
  const response = await fetch(url, { method, headers });
  const body = (await response.json()) as Readonly<Record<string, unknown>>;
  return { status: response.status, body, challenge: response.headers.get('www-authenticate') };
}

describe('a VM', () => {
  const version = { 'api-version': '2018-02-01' };

  test('answers with numbers as text', async () => {
    await fake.control.setMachine({ vm: { clientId: 'mine' } });
    for (const query of [version, { ...version, client_id: 'mine' }])
      expect(await ask(query)).toMatchObject({
        status: 200,
        body: { token_type: 'Bearer', resource, expires_in: '3600' },
      });
  });

  test.each([
    ['without the header', version, {}],
    ['with another value of the header', version, { metadata: 'yes' }],
    ['that another server passed on', version, { ...metadata, 'x-forwarded-for': '192.0.2.5' }],
    ['without a version', {}, metadata],
    ['for another resource', { ...version, resource: 'https://vault.azure.net' }, metadata],
    ['for an identity that it does not have', { ...version, client_id: 'other' }, metadata],
  ])('refuses a request %s', async (_, query, headers) => {
    await fake.control.setMachine({ vm: { clientId: 'mine' } });
    expect((await ask(query, headers)).status).toBe(400);
  });

  test('answers GET only', async () => {
    await fake.control.setMachine({ vm: {} });
    expect((await ask(version, metadata, 'POST')).status).toBe(405);
  });
});

describe('Azure Arc', () => {
  const version = { 'api-version': '2020-06-01' };

  test('gives a token once to who can read the file that it names', async () => {
    await fake.control.setMachine({ arc: { keys } });
    const { status, challenge } = await ask(version);
    expect(status).toBe(401);
    const [, file = ''] = /^Basic realm=(.*)$/u.exec(challenge ?? '') ?? [];
    const proof = { ...metadata, authorization: `Basic ${readFileSync(file, 'utf8')}` };
    expect((await ask(version, { ...metadata, authorization: 'Basic guess' })).status).toBe(401);
    expect((await ask(version, proof)).status).toBe(200);
    expect((await ask(version, proof)).status).toBe(401);
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  test.each([
    ['of an Azure VM', { 'api-version': '2018-02-01' }],
    ['for a user-assigned identity', { ...version, client_id: 'mine' }],
  ])('refuses a request %s', async (_, query) => {
    await fake.control.setMachine({ arc: { keys } });
    expect((await ask(query)).status).toBe(400);
  });

  test.each([
    ['127.0.0.1', true],
    ['::ffff:127.0.0.1', true],
    ['::1', true],
    ['192.0.2.5', false],
    ['::ffff:192.0.2.5', false],
  ])('a connection from %s is answered: %s', (remoteAddress, isAnswered) => {
    const world = { ...bareWorld(0), machine: { arc: { keys } } };
    const request = { method: 'GET', headers: {}, socket: { remoteAddress } } as IncomingMessage;
    expect(machineToken(world, request, new URLSearchParams()) !== undefined).toBe(isAnswered);
  });
});

test('a server without a machine gives no token', async () => {
  await fake.control.setMachine({});
  expect((await fetch(`${fake.server.origin}/metadata/identity/oauth2/token`)).status).toBe(404);
});

test('a machine is an Azure VM or connected by Azure Arc', async () => {
  await expect(fake.control.setMachine({ vm: {}, arc: { keys } })).rejects.toThrow(
    'a machine is one of them',
  );
});
