// Logging in with a token of another issuer, which is read from a file for each login.
import { sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { secretFiles, tokenReader } from '../../../../../src/manager/start/configuration.ts';
import {
  patCredential,
  servicePrincipalCredential,
} from '../../../../../src/shared/azure/http/credential.ts';
import { systemClock } from '../../../../../src/shared/base/clock.ts';
import { silentLogger } from '../../../../../src/shared/base/log.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { selfSigned } from '../../../../support/certificate.ts';
import { problem, useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
const folder = mkdtempSync(join(tmpdir(), 'federation-'));
afterAll(() => rmSync(folder, { recursive: true }));
const issuer = selfSigned(folder, { name: 'issuer' });
const record = {
  issuer: 'https://issuer.example',
  subject: 'host-1',
  audience: 'api://AzureADTokenExchange',
};
beforeEach(() =>
  fake.control.setApplications([
    {
      clientId: 'client-1',
      tenantId: 'tenant-1',
      federation: { ...record, certificate: issuer.certificate },
    },
  ]),
);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function issued(change: object = {}): string {
  const claims = {
    iss: record.issuer,
    sub: record.subject,
    aud: record.audience,
    exp: Date.now() / 1000 + 3600,
  };
  const signed = `${part({ alg: 'RS256' })}.${part({ ...claims, ...change })}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), issuer.key).toString('base64url')}`;
}

/** A manager's login with the file as it is. */
function login() {
  const ids = { clientId: 'client-1', tenantId: 'tenant-1', proof: 'federation' } as const;
  const tokenFile = join(folder, 'token');
  const files = secretFiles({ credential: { kind: 'service-principal', ...ids, tokenFile } }, ['/etc/none']);
  const credential = servicePrincipalCredential({
    ...ids,
    secret: tokenReader(files, silentLogger),
    authority: fake.server.origin,
    fetch,
    clock: systemClock(1),
  });
  return { credential, list: () => fake.client({ credential }).listPools() };
}

test('each login reads the file again', async () => {
  writeFileSync(join(folder, 'token'), issued());
  const { credential, list } = login();
  expect(await list()).not.toHaveLength(0);
  writeFileSync(join(folder, 'token'), issued({ sub: 'host-2' }));
  expect(await list(), 'the access token is kept').not.toHaveLength(0);
  credential.renew();
  expect(await problem(list())).toMatchObject({
    code: 'azure.auth',
    seen: expect.stringContaining('AADSTS70021'),
    next: "check clientId, tenantId, and that the application's federated credential has the issuer, subject and audience of the token file",
  });
  writeFileSync(join(folder, 'token'), `${issued()}\n`);
  expect(await list()).not.toHaveLength(0);
});

test.each([
  ['of another audience', issued({ aud: 'api://other' }), 'AADSTS700023'],
  ['that has ended', issued({ exp: Date.now() / 1000 - 3600 }), 'AADSTS700024'],
  ['with another signature', `${issued().slice(0, -8)}AAAAAAAA`, 'AADSTS700027'],
  ['that is none', 'hunter2', 'AADSTS50027'],
])('a token %s is refused', async (_, text, code) => {
  writeFileSync(join(folder, 'token'), text);
  expect(await problem(login().list())).toMatchObject({ seen: expect.stringContaining(code) });
});

test('a missing file is named', async () => {
  rmSync(join(folder, 'token'));
  expect(await problem(login().list())).toMatchObject({
    code: 'azure.auth',
    what: expect.stringContaining(join(folder, 'token')),
  });
});

test.each([
  ['a personal access token', 'abc', `Basic ${Buffer.from(':abc').toString('base64')}`],
  [
    'an access token that az prints',
    'eyJhbGciOiJ.eyJhdWQiOiI.c2lnbmF0dXJl',
    'Bearer eyJhbGciOiJ.eyJhdWQiOiI.c2lnbmF0dXJl',
  ],
])('this machine sends %s in its own way', async (_, token, header) => {
  const { signal } = new AbortController();
  expect((await patCredential(new Secret(token)).authorization(signal)).reveal()).toBe(header);
});
