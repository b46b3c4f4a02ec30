// Microsoft's own library logs in at the practice server: what the server wants is no more than what Microsoft's clients send.
import { sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ClientCertificateCredential,
  ClientSecretCredential,
  ManagedIdentityCredential,
  type TokenCredentialOptions,
  WorkloadIdentityCredential,
} from '@azure/identity';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { selfSigned } from '../../../../support/certificate.ts';
import { useFake } from '../server.ts';

type HttpClient = NonNullable<TokenCredentialOptions['httpClient']>;

// The library wants https, and its audience is that address.
const authority = 'https://login.example';
const fake = useFake(1, { publicUrl: `${authority}/lab` });
const folder = mkdtempSync(join(tmpdir(), 'identity-'));
afterAll(() => rmSync(folder, { recursive: true }));
const own = selfSigned(folder);
const issuer = selfSigned(folder, { name: 'issuer' });
const record = {
  issuer: 'https://issuer.example',
  subject: 'host-1',
  audience: 'api://AzureADTokenExchange',
};
const scope = '499b84ac-1321-427f-aa17-267ca6975798/.default';
const tenant = '11111111-2222-3333-4444-555555555555';

/** Takes the requests to the practice server, whatever address they have. */
const httpClient: HttpClient = {
  async sendRequest(request) {
    const { pathname, search } = new URL(request.url);
    const response = await fetch(`${fake.server.origin}${pathname}${search}`, {
      method: request.method,
      headers: request.headers.toJSON(),
      ...(typeof request.body === 'string' ? { body: request.body } : {}),
    });
    const { headers } = request;
    for (const name of Object.keys(headers.toJSON())) headers.delete(name);
    for (const [name, value] of response.headers) headers.set(name, value);
    return { request, status: response.status, headers, bodyAsText: await response.text() };
  },
};
const options = { authorityHost: authority, disableInstanceDiscovery: true, httpClient };

async function listPools(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${fake.server.origin}/lab/_apis/distributedtask/pools?api-version=7.1`, { headers }))
    .status;
}

beforeEach(async () => {
  await fake.control.setApplications([
    { clientId: 'with-certificate', tenantId: tenant, certificate: own.certificate },
    {
      clientId: 'federated',
      tenantId: tenant,
      federation: { ...record, certificate: issuer.certificate },
    },
  ]);
  await fake.control.setMachine({ vm: { clientId: 'machine' } });
});

function federatedToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { issuer: iss, subject: sub, audience: aud } = record;
  const signed = `${part({ alg: 'RS256' })}.${part({ iss, sub, aud, exp: Date.now() / 1000 + 3600 })}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), issuer.key).toString('base64url')}`;
}

test.each([
  ['a secret', () => new ClientSecretCredential(tenant, 'any', 'good-token', options)],
  [
    'a certificate',
    () =>
      new ClientCertificateCredential(
        tenant,
        'with-certificate',
        { certificate: `${own.key}${own.certificate}` },
        options,
      ),
  ],
  [
    'a federated token',
    () => {
      const tokenFilePath = join(folder, 'federated');
      writeFileSync(tokenFilePath, federatedToken());
      return new WorkloadIdentityCredential({
        tenantId: tenant,
        clientId: 'federated',
        tokenFilePath,
        ...options,
      });
    },
  ],
  ["an Azure VM's identity", () => new ManagedIdentityCredential({ httpClient })],
  ['a chosen identity of the VM', () => new ManagedIdentityCredential({ clientId: 'machine', httpClient })],
])('with %s it gets a token, which the service accepts', async (_, credential) => {
  const { token, expiresOnTimestamp } = (await credential().getToken(scope)) ?? {};
  expect(await listPools(token ?? '')).toBe(200);
  expect(expiresOnTimestamp).toBeGreaterThan(Date.now());
});
