// Which callers may call, the answer to all others, and the answer to an agent that logs in.
import { beforeAll, describe, expect, test } from 'vitest';
import { generateAgentKey, type AgentKey } from '../../../../../src/shared/azure/keys.ts';
import { loginForm, privateKey } from '../../../../support/agent-login.ts';
import { newAgent, useFake } from '../server.ts';

const fake = useFake();
const pools = '/_apis/distributedtask/pools?api-version=7.1';

async function ask(path: string, authorization?: string, more: Readonly<Record<string, string>> = {}) {
  const headers = authorization === undefined ? more : { authorization, ...more };
  const response = await fetch(`${fake.server.organization}${path}`, { redirect: 'manual', headers });
  const text = await response.text();
  return { status: response.status, challenge: response.headers.get('www-authenticate'), text };
}

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('tokens', () => {
  test.each(['', 'PAT', 'somebody@example.org', 'a b'])('the user name "%s" is no matter', async (user) => {
    expect(await ask(pools, basic(`${user}:good-token`))).toMatchObject({ status: 200, challenge: null });
  });

  test.each([':bad-token', 'good-token:', 'good-token', ''])('"%s" gets the sign-in page', async (pair) => {
    const reply = await ask(pools, basic(pair));
    expect(reply.status).toBe(203);
    expect(reply.text).toContain('Azure DevOps Services | Sign In');
  });
});

describe('a program that asks not to be sent to sign in', () => {
  const program = { 'x-tfs-fedauthredirect': 'Suppress' };

  test.each(['/_apis', '/_apis/connectionData', pools])(
    'is refused at %s with a wrong token',
    async (path) => {
      const reply = await ask(path, basic(':bad-token'), program);
      expect(reply.status).toBe(401);
      expect(reply.challenge).toContain('Basic realm=');
      expect(JSON.parse(reply.text)).toMatchObject({
        message:
          "TF400813: The user 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' is not authorized to access this resource.",
        typeKey: 'UnauthorizedRequestException',
      });
    },
  );

  test('and with one that was revoked', async () => {
    await fake.control.setToken('revoked');
    expect(await ask(pools, basic(':good-token'), program)).toMatchObject({ status: 401 });
    expect(await ask(pools, basic(':good-token'))).toMatchObject({ status: 203 });
  });
});

describe('every 401 says how one logs in', () => {
  const challenge = () =>
    `Bearer authorization_uri=${fake.server.origin}/00000000-0000-0000-0000-000000000000, Basic realm="${fake.server.origin}/"`;

  test.each(['/_apis', '/_apis/connectionData', pools])('an unknown caller at %s', async (path) => {
    expect(await ask(path)).toMatchObject({ status: 401, challenge: challenge() });
  });

  test('an expired personal access token', async () => {
    await fake.control.setToken('expired');
    const reply = await ask(pools, basic(':good-token'));
    expect(reply).toMatchObject({ status: 401, challenge: challenge() });
    expect(reply.text).toContain('has expired');
  });

  test('an access token that was never issued', async () => {
    expect(await ask(pools, 'Bearer made-up')).toMatchObject({ status: 401, challenge: challenge() });
  });

  test("an agent's access token that has ended", async () => {
    const { login } = await registered('ended');
    const { access_token: token } = (await login()).json as { access_token: string };
    expect(await ask('/_apis/connectionData', `Bearer ${token}`)).toMatchObject({ status: 200 });
    fake.ahead = 61 * 60_000;
    expect(await ask('/_apis/connectionData', `Bearer ${token}`)).toMatchObject({
      status: 401,
      challenge: challenge(),
    });
  });
});

let key: AgentKey;
beforeAll(async () => {
  key = await generateAgentKey();
});

/** Registers an agent in a pool of the same name, and returns how it logs in; `claims` replace those of a right assertion. */
async function registered(name: string) {
  const client = fake.client();
  const { pool } = await client.ensurePool(name);
  const { authorization } = await client.createAgent(pool.id, newAgent(name, key));
  const { clientId = '', authorizationUrl = '' } = authorization ?? {};
  const login = async (claims: Record<string, unknown> = {}, form: Record<string, string> = {}) => {
    const parameters = JSON.parse(key.rsaParameters()) as Record<string, string>;
    const now = Math.floor(Date.now() / 1000);
    const right = { iss: clientId, sub: clientId, aud: authorizationUrl, nbf: now, exp: now + 300 };
    const response = await fetch(authorizationUrl, {
      method: 'POST',
      body: new URLSearchParams({
        ...Object.fromEntries(loginForm({ ...right, ...claims }, privateKey(parameters))),
        ...form,
      }),
    });
    return { status: response.status, json: await response.json() };
  };
  return { login, claims: { iss: clientId, sub: clientId, aud: authorizationUrl } };
}

describe('an agent that logs in', () => {
  const hour = 3600;
  const now = () => Math.floor(Date.now() / 1000);
  const time = String.raw`\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}:\d{2} [AP]M`;

  let skewed: Awaited<ReturnType<typeof registered>>;
  beforeAll(async () => {
    skewed = await registered('skewed');
  });

  test.each<[string, () => Record<string, unknown>, Record<string, string>, string, string]>([
    [
      'with a clock an hour ahead',
      () => ({ nbf: now() + hour, exp: now() + hour + 300 }),
      {},
      'invalid_client',
      `^The bearer token is not valid until ${time}\\. Current server time is ${time}\\.$`,
    ],
    [
      'with a clock an hour behind',
      () => ({ nbf: now() - hour, exp: now() - hour + 300 }),
      {},
      'invalid_client',
      `^The bearer token expired on ${time}\\. Current server time is ${time}\\.$`,
    ],
    ['with a life too long', () => ({ exp: now() + hour }), {}, 'invalid_client', 'lives too long'],
    ['for another server', () => ({ aud: 'https://other.example' }), {}, 'invalid_client', 'audience'],
    ['under an unknown id', () => ({ iss: 'nobody', sub: 'nobody' }), {}, 'invalid_client', 'not registered'],
    [
      'by another grant',
      () => ({}),
      { grant_type: 'password' },
      'unsupported_grant_type',
      'client_credentials',
    ],
  ])('%s is refused in both dialects', async (_, claims, form, error, words) => {
    const reply = await skewed.login(claims(), form);
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ error });
    const { error_description: standard, errordescription: dotnet } = reply.json as Record<string, string>;
    expect(standard).toMatch(new RegExp(words, 'u'));
    expect(dotnet).toBe(standard);
  });

  test.each(['null', '5', '"text"', '{"iss":{"toString":1}}', '[]'])(
    'by an assertion that says %s is refused',
    async (said) => {
      const part = Buffer.from(said).toString('base64url');
      const assertion = `${part}.${part}.x`;
      const reply = await skewed.login({}, { client_assertion: assertion });
      expect(reply).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
    },
  );

  test('by a header or times of the wrong kind is refused', async () => {
    const encode = (said: unknown) => Buffer.from(JSON.stringify(said)).toString('base64url');
    const { iss, sub, aud } = skewed.claims;
    for (const [header, more] of [
      [null, {}],
      [{ alg: 'RS256' }, { nbf: { toString: 1 }, exp: [] }],
    ]) {
      const assertion = `${encode(header)}.${encode({ iss, sub, aud, ...more })}.x`;
      const reply = await skewed.login({}, { client_assertion: assertion });
      expect(reply).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
    }
  });

  test('within five minutes a clock may be wrong', async () => {
    const { login } = await registered('nearly');
    for (const shift of [-280, 280]) {
      expect(await login({ nbf: now() + shift, exp: now() + shift + 300 })).toMatchObject({ status: 200 });
    }
  });
});
