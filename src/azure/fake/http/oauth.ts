import { createPublicKey, randomUUID, verify } from 'node:crypto';
import { rule, type Fake } from '../world/fake.ts';
import { ok, type FakeCall, type Reply, type Route } from './reply.ts';
import type { FakeAgent } from '../world/state.ts';

/** Longest life of an assertion, and how far apart the clocks may be. */
const maxAssertionS = 5 * 60;
const skewS = 5 * 60;

/** The service's .NET clients read `errordescription`, all others the name that the standard gives it. */
function refused(error: string, description: string): Reply {
  return { status: 400, json: { error, error_description: description, errordescription: description } };
}

const invalidClient = (description: string): Reply => refused('invalid_client', description);

/** Times in seconds since the epoch. */
interface Claims {
  readonly iss?: string;
  readonly sub?: string;
  readonly aud?: string;
  readonly nbf?: number;
  readonly exp?: number;
}

/** An agent proves with its registered key who it is and gets an access token. */
function agentToken({ fake, text }: FakeCall): Reply {
  const form = new URLSearchParams(text);
  const assertion = form.get('client_assertion') ?? '';
  if (form.get('grant_type') !== 'client_credentials' || !assertion.includes('.')) {
    return refused('unsupported_grant_type', 'Only client_credentials with a client assertion is supported.');
  }
  const [header = '', payload = '', signature = ''] = assertion.split('.');
  const claims = decode(payload) as Claims;
  const agent = fake.state.agents.find(({ clientId }) => clientId === claims.iss);
  if (agent === undefined || agent.revoked) return invalidClient('The client is not registered.');
  const problem = objection(fake, agent, claims, decode(header) as { alg?: string });
  if (problem !== undefined) return invalidClient(problem);
  const signed = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${payload}`),
    publicKeyOf(agent),
    Buffer.from(signature, 'base64url'),
  );
  if (!signed) return invalidClient('The assertion is not signed with the registered key.');
  const token = randomUUID();
  fake.state.accessTokens[token] = { agentId: agent.id, until: fake.now() + rule(fake, 'accessToken') };
  fake.changed();
  return ok({
    access_token: token,
    token_type: 'JWT',
    expires_in: Math.ceil(rule(fake, 'accessToken') / 1000),
  });
}

function objection(
  fake: Fake,
  agent: FakeAgent,
  claims: Claims,
  header: { alg?: string },
): string | undefined {
  if (header.alg !== 'RS256') return 'The assertion must be signed with RS256.';
  if (claims.sub !== claims.iss) return 'Issuer and subject differ.';
  if (claims.aud !== `${agent.baseUrl}/_apis/oauth2/token`) return 'The audience is not this endpoint.';
  return (
    wrongTime(fake.now() / 1000, claims) ??
    (agent.publicKey === undefined ? 'The client has no key.' : undefined)
  );
}

/** Agents know by "Current server time is" that a clock is wrong, and go on trying for half an hour. */
function wrongTime(nowS: number, { nbf = 0, exp = 0 }: Claims): string | undefined {
  const server = `Current server time is ${spelled(nowS)}.`;
  if (nbf > nowS + skewS) return `The bearer token is not valid until ${spelled(nbf)}. ${server}`;
  if (exp < nowS - skewS) return `The bearer token expired on ${spelled(exp)}. ${server}`;
  return exp > nowS + maxAssertionS + skewS ? 'The assertion lives too long.' : undefined;
}

/** `1/17/2020 4:03:15 PM`, UTC, as users of the service reported it. */
function spelled(seconds: number): string {
  const date = new Date(seconds * 1000);
  const zone = { timeZone: 'UTC' };
  return `${date.toLocaleDateString('en-US', zone)} ${date.toLocaleTimeString('en-US', zone)}`;
}

export function publicKeyOf(agent: FakeAgent) {
  const { modulus = '', exponent = '' } = agent.publicKey ?? {};
  const url = (base64: string) => Buffer.from(base64, 'base64').toString('base64url');
  return createPublicKey({ key: { kty: 'RSA', n: url(modulus), e: url(exponent) }, format: 'jwk' });
}

function decode(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return {};
  }
}

/** Stands in for Microsoft Entra ID: any client id with one of the accepted tokens as its secret. */
export function principalToken(fake: Fake, text: string): Reply {
  const form = new URLSearchParams(text);
  if (fake.tokenState !== 'valid' || !fake.tokens().includes(form.get('client_secret') ?? '')) {
    return {
      status: 401,
      json: {
        error: 'invalid_client',
        error_description: 'AADSTS7000215: Invalid client secret provided.\r\nTrace ID: none',
      },
    };
  }
  const token = randomUUID();
  fake.bearers.set(token, fake.now() + rule(fake, 'accessToken'));
  return ok({
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.ceil(rule(fake, 'accessToken') / 1000),
  });
}

/** Where agents log in: open to anybody, and without versions. */
export const oauthRoutes: readonly Route[] = [['POST', /^\/_apis\/oauth2\/token$/u, agentToken]];
