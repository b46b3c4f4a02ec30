// Logging in with a certificate. Microsoft Entra ID is the practice server, which verifies each assertion.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  clientAssertion,
  readCertificate,
  timeMistake,
} from '../../../../../src/shared/azure/http/certificate.ts';
import { servicePrincipalCredential } from '../../../../../src/shared/azure/http/credential.ts';
import { systemClock, type Clock } from '../../../../../src/shared/base/clock.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { selfSigned } from '../../../../support/certificate.ts';
import { problem, useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
afterAll(() => rmSync(folder, { recursive: true }));
const own = selfSigned(folder);
const other = selfSigned(folder, { name: 'other' });
const pem = `${own.key}${own.certificate}`;
const application = { clientId: 'client-1', tenantId: 'tenant-1', certificate: own.certificate };
const day = 86_400_000;

describe('an application with a certificate', () => {
  beforeEach(() => fake.control.setApplications([application]));
  const bodies: string[] = [];
  const credential = (text: string, ids: object = {}, clock: Clock = systemClock(1)) =>
    servicePrincipalCredential({
      ...application,
      ...ids,
      proof: 'certificate',
      secret: new Secret(text),
      authority: fake.server.origin,
      fetch: (url, init) => {
        bodies.push(init.body ?? '');
        return fetch(url, init);
      },
      clock,
    });
  const list = (...args: Parameters<typeof credential>) =>
    fake.client({ credential: credential(...args) }).listPools();

  test('gets a token by an assertion; the key is in no request', async () => {
    expect(await list(pem)).not.toHaveLength(0);
    expect(bodies.at(-1)).toContain('client_assertion=');
    const [key] = own.key.split('\n').slice(1);
    expect(bodies.filter((body) => body.includes('PRIVATE') || body.includes(key ?? ''))).toEqual([]);
  });

  test('the certificate may be the second of a chain, and before its key', async () => {
    expect(await list(`${other.certificate}${own.certificate}${own.key}`)).not.toHaveLength(0);
  });

  test.each<[string, Parameters<typeof credential>, string]>([
    ['another certificate', [`${other.key}${other.certificate}`], 'AADSTS700027'],
    ['another application', [pem, { clientId: 'client-2' }], 'AADSTS700016'],
    ['another directory', [pem, { tenantId: 'tenant-2' }], 'AADSTS700016'],
  ])('%s is refused, and the error names what to check', async (_, args, code) => {
    expect(await problem(list(...args))).toMatchObject({
      code: 'azure.auth',
      seen: expect.stringContaining(code),
      next: 'check clientId, tenantId, the clock, and that the application has this certificate (Certificates & secrets)',
    });
  });

  test('a clock before the beginning of the certificate is named, and nothing is sent', async () => {
    const before = bodies.length;
    const slow = { ...systemClock(1), wall: () => Date.now() - day };
    expect(await problem(list(pem, {}, slow))).toMatchObject({
      code: 'azure.auth',
      seen: expect.stringContaining('the certificate begins on'),
      next: 'check the clock of this machine',
    });
    expect(bodies).toHaveLength(before);
  });

  const endpoint = () => `${fake.server.origin}/tenant-1/oauth2/v2.0/token`;
  const certificate = readCertificate(pem);
  if (!('key' in certificate)) throw new Error(certificate.seen);
  const assertion = (change: object = {}) =>
    clientAssertion(certificate, {
      clientId: 'client-1',
      audience: endpoint(),
      now: Date.now(),
      ...change,
    }).reveal();
  const send = async (text: string, change: Record<string, string> = {}) => {
    const response = await fetch(endpoint(), {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'client-1',
        scope: '499b84ac-1321-427f-aa17-267ca6975798/.default',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: text,
        ...change,
      }),
    });
    const { error_description: said = '' } = (await response.json()) as { error_description?: string };
    return `${response.status} ${said.slice(0, 13)}`.trim();
  };

  test('the practice server accepts each assertion once', async () => {
    const once = assertion();
    expect(await send(once)).toBe('200');
    expect(await send(once)).toBe('401 AADSTS700029:');
  });

  test.each<[string, () => string, string, Record<string, string>?]>([
    ['another audience', () => assertion({ audience: 'http://other/token' }), '401 AADSTS700023:'],
    ['an old one', () => assertion({ now: Date.now() - 3_600_000 }), '401 AADSTS700024:'],
    ['one for an hour from now', () => assertion({ now: Date.now() + 3_600_000 }), '401 AADSTS700024:'],
    ['another issuer', () => assertion({ clientId: 'client-2' }), '401 AADSTS700021:'],
    ['a changed claim', () => assertion().replace(/\.(.)/, '.A'), '401 AADSTS50027:'],
    ['a changed signature', () => `${assertion().slice(0, -8)}AAAAAAAA`, '401 AADSTS700027:'],
    ['another scope', assertion, '401 AADSTS70011:', { scope: 'https://graph.microsoft.com/.default' }],
    ['a secret as well', assertion, '401 AADSTS70002', { client_secret: 'good-token' }],
  ])('the practice server refuses %s', async (_, text, answer, change) => {
    expect((await send(text(), change)).slice(0, answer.length)).toBe(answer);
  });

  test('an assertion has the members that Microsoft documents, and lives at most ten minutes', () => {
    const [header = '', claims = ''] = assertion({ now: 1_800_000_000_000 }).split('.');
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    const digest = execFileSync('openssl', ['x509', '-in', join(folder, 'client.crt'), '-outform', 'DER']);
    expect(read(header)).toEqual({
      alg: 'RS256',
      typ: 'JWT',
      x5t: execFileSync('openssl', ['dgst', '-sha1', '-binary'], { input: digest }).toString('base64url'),
      'x5t#S256': execFileSync('openssl', ['dgst', '-sha256', '-binary'], { input: digest }).toString(
        'base64url',
      ),
    });
    expect(read(claims)).toEqual({
      aud: endpoint(),
      iss: 'client-1',
      sub: 'client-1',
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      nbf: 1_800_000_000 - 60,
      exp: 1_800_000_000 + 300,
    });
  });
});

describe('a file that cannot sign', () => {
  const small = selfSigned(folder, { name: 'small', key: ['rsa:1024'] });
  const curve = selfSigned(folder, { name: 'curve', key: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] });
  writeFileSync(join(folder, 'plain.key'), own.key);
  const locked = execFileSync('openssl', [
    'pkcs8',
    '-topk8',
    '-in',
    join(folder, 'plain.key'),
    '-passout',
    'pass:x',
  ]).toString();
  test.each([
    ['nothing', '', 'no private key'],
    ['a client secret', 'hunter2', 'no private key'],
    ['only the certificate', own.certificate, 'no private key'],
    ['only the key', own.key, 'no certificate'],
    ['a broken certificate', `${own.key}${own.certificate.replace('MII', 'AAA')}`, 'no certificate'],
    ['the certificate of another key', `${own.key}${other.certificate}`, 'a certificate of another key'],
    ['a key with a passphrase', `${locked}${own.certificate}`, 'the private key has a passphrase'],
    ['a short key', `${small.key}${small.certificate}`, 'an RSA key of 1024 bits'],
    ['an elliptic curve', `${curve.key}${curve.certificate}`, 'a key that is not RSA'],
  ])('%s', (_, text, seen) => {
    expect(readCertificate(text)).toMatchObject({ seen });
  });

  test('a certificate that has ended, or has not begun', () => {
    const read = readCertificate(pem);
    if (!('key' in read)) throw new Error(read.seen);
    expect(timeMistake(read, Date.now() + 1000)).toBeUndefined();
    expect(timeMistake(read, Date.now() + 31 * day)?.seen).toMatch(
      /^the certificate ended on \d{4}-\d\d-\d\d$/,
    );
    expect(timeMistake(read, Date.now() - day)?.seen).toMatch(/^the certificate begins on /);
  });
});
