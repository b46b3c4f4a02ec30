import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentKey, agentFiles, generateAgentKey } from '../../../../src/shared/azure/keys.ts';

const b64url = (text: string) => Buffer.from(text, 'base64').toString('base64url');

test('the agent gets the private half of the registered key', async () => {
  const key = await generateAgentKey();
  const parts = JSON.parse(key.rsaParameters()) as Record<string, string>;
  const get = (name: string) => b64url(parts[name] ?? '');
  const privateKey = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: get('modulus'),
      e: get('exponent'),
      d: get('d'),
      p: get('p'),
      q: get('q'),
      dp: get('dp'),
      dq: get('dq'),
      qi: get('inverseQ'),
    },
  });
  const { modulus, exponent } = key.publicKey;
  const publicKey = createPublicKey({
    format: 'jwk',
    key: { kty: 'RSA', n: b64url(modulus), e: b64url(exponent) },
  });
  const message = Buffer.from('proof');
  expect(verify('RSA-SHA256', message, publicKey, sign('RSA-SHA256', message, privateKey))).toBe(true);
  expect(Buffer.from(modulus, 'base64')).toHaveLength(256);
});

const part = (bytes: number) => fc.uint8Array({ minLength: 1, maxLength: bytes });

test('every part has its exact length and value, with any number of leading zero bytes', () => {
  const sizes = { d: 256, p: 128, q: 128, dp: 128, dq: 128, qi: 128 };
  const parts = fc.record(
    Object.fromEntries(Object.entries(sizes).map(([name, bytes]) => [name, part(bytes)])),
  ) as fc.Arbitrary<Record<keyof typeof sizes, Uint8Array>>;
  fc.assert(
    fc.property(parts, (values) => {
      const url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
      const modulus = Buffer.alloc(256, 0x9c);
      const key = new AgentKey({
        n: url(modulus),
        e: 'AQAB',
        d: url(values.d),
        p: url(values.p),
        q: url(values.q),
        dp: url(values.dp),
        dq: url(values.dq),
        qi: url(values.qi),
      });
      const written = JSON.parse(key.rsaParameters()) as Record<string, string>;
      for (const [name, bytes] of Object.entries(sizes)) {
        const buffer = Buffer.from(written[name === 'qi' ? 'inverseQ' : name] ?? '', 'base64');
        const value = values[name as keyof typeof sizes];
        expect(buffer).toHaveLength(bytes);
        expect(buffer.subarray(bytes - value.length).equals(Buffer.from(value))).toBe(true);
        expect(buffer.subarray(0, bytes - value.length).every((byte) => byte === 0)).toBe(true);
      }
    }),
  );
});

test('a printed key shows nothing', async () => {
  const key = await generateAgentKey();
  const { d = '' } = JSON.parse(key.rsaParameters()) as { d?: string };
  expect(inspect(key, { depth: 9 }) + JSON.stringify({ key })).not.toContain(d.slice(0, 20));
});

const registration = async (authorization: object) => ({
  agent: { id: 4, name: 'h1-0', enabled: true, status: 'offline' as const, authorization },
  pool: { id: 7, name: 'gpu-lab' },
  organization: 'https://dev.azure.com/example',
  key: await generateAgentKey(),
});

test('the three files contain server, agent and login', async () => {
  const authorizationUrl = 'https://vstoken.example/oauth2/token';
  const files = agentFiles(await registration({ clientId: 'id', authorizationUrl }));
  expect(files.map(({ name, mode }) => [name, mode.toString(8)])).toEqual([
    ['.agent', '644'],
    ['.credentials', '600'],
    ['.credentials_rsaparams', '600'],
  ]);
  expect(JSON.parse(files[0]?.content ?? '')).toEqual({
    acceptTeeEula: true,
    agentId: 4,
    agentName: 'h1-0',
    poolId: 7,
    poolName: 'gpu-lab',
    serverUrl: 'https://dev.azure.com/example/',
    workFolder: '_work',
  });
  expect(JSON.parse(files[1]?.content ?? '')).toEqual({
    scheme: 'OAuth',
    data: { clientId: 'id', authorizationUrl, oauthEndpointUrl: authorizationUrl },
  });
});

// The addresses that config.sh takes from an answer, by the agent's ConfigurationManager.
test.each([
  {
    where: 'the service: its login has another host name',
    organization: 'https://dev.azure.com/example',
    authorizationUrl: 'https://vstoken.dev.azure.com/x/_apis/oauth2/token',
    serverUrl: 'https://dev.azure.com/example/',
    oauthEndpointUrl: 'https://vstoken.dev.azure.com/x/_apis/oauth2/token',
  },
  {
    where: 'a server that reports a name that hosts cannot reach',
    organization: 'http://10.0.0.5:8080/azdo/Engineering',
    authorizationUrl: 'https://internal.lab.example/azdo/Engineering/_apis/oauth2/token',
    serverUrl: 'http://10.0.0.5:8080/azdo/Engineering/',
    oauthEndpointUrl: 'http://10.0.0.5:8080/azdo/Engineering/_apis/oauth2/token',
  },
  {
    where: 'a server that reports its own address: its path, our host name',
    organization: 'https://devops.lab.example/tfs/Lab',
    reportedUrl: 'http://internal:8080/tfs/Lab/',
    authorizationUrl: 'http://internal:8080/tfs/Lab/_apis/oauth2/token',
    serverUrl: 'https://devops.lab.example/tfs/Lab/',
    oauthEndpointUrl: 'https://devops.lab.example/tfs/Lab/_apis/oauth2/token',
  },
  {
    where: 'the service that reports an address with another path',
    organization: 'https://dev.azure.com/example',
    reportedUrl: 'https://dev.azure.com/example-eu/',
    authorizationUrl: 'https://vstoken.dev.azure.com/x/_apis/oauth2/token',
    serverUrl: 'https://dev.azure.com/example-eu/',
    oauthEndpointUrl: 'https://vstoken.dev.azure.com/x/_apis/oauth2/token',
  },
  {
    where: 'an invalid address',
    organization: 'https://dev.azure.com/example',
    reportedUrl: 'nowhere',
    authorizationUrl: 'https://vstoken.dev.azure.com/x/_apis/oauth2/token',
    serverUrl: 'https://dev.azure.com/example/',
    oauthEndpointUrl: 'https://vstoken.dev.azure.com/x/_apis/oauth2/token',
  },
])(
  'addresses of $where',
  async ({ organization, authorizationUrl, reportedUrl, serverUrl, oauthEndpointUrl }) => {
    const given = await registration({ clientId: 'id', authorizationUrl });
    const properties =
      reportedUrl === undefined ? {} : { ServerUrl: { $type: 'System.String', $value: reportedUrl } };
    const files = agentFiles({ ...given, organization, agent: { ...given.agent, properties } });
    expect(JSON.parse(files[0]?.content ?? '')).toMatchObject({ serverUrl });
    expect(JSON.parse(files[1]?.content ?? '')).toMatchObject({
      // The audience of the agent's proof stays as the server returned it.
      data: { authorizationUrl, oauthEndpointUrl },
    });
  },
);

test('an answer without login is refused instead of starting an agent that cannot log in', async () => {
  const incomplete = await registration({ clientId: 'id' });
  expect(() => agentFiles(incomplete)).toThrow(/without its login data/u);
});
