import { type KeyObject, constants, createPublicKey, publicEncrypt, randomUUID, verify } from 'node:crypto';

import { type Fake, rule } from '../world/fake.ts';
import type { FakeAgent } from '../world/state.ts';
import { type FakeCall, type Reply, type Route, ok } from './reply.ts';

/** Longest lifetime of an assertion, and the largest difference of the clocks. */
const maxAssertionS = 5 * 60;
const skewS = 5 * 60;

/** Returns the refusal. The service's .NET clients read `errordescription`, all others the standard name. */
function refused(error: string, description: string): Reply {
  return { status: 400, json: { error, error_description: description, errordescription: description } };
}

const invalidClient = (description: string): Reply => refused('invalid_client', description);

/** The caller's claims; times in seconds since the epoch. */
interface Claims {
  readonly iss?: unknown;
  readonly sub?: unknown;
  readonly aud?: unknown;
  readonly nbf?: unknown;
  readonly exp?: unknown;
}

/** Exchanges an assertion, signed with the agent's registered key, for an access token. */
function agentToken({ fake, text }: FakeCall): Reply {
  const form = new URLSearchParams(text);
  const assertion = form.get('client_assertion') ?? '';
  if (form.get('grant_type') !== 'client_credentials' || !assertion.includes('.')) {
    return refused('unsupported_grant_type', 'Only client_credentials with a client assertion is supported.');
  }
  const [header = '', payload = '', signature = ''] = assertion.split('.');
  const claims: Claims = decode(payload);
  const agent = fake.state.agents.find(({ clientId }) => clientId === claims.iss);
  if (agent === undefined || agent.revoked) return invalidClient('The client is not registered.');
  const problem = objection(fake, agent, claims, decode(header));
  if (problem !== undefined) return invalidClient(problem);
  const key = agent.publicKey && publicKeyOf(agent.publicKey);
  if (key === undefined) return invalidClient('The client has no key.');
  const signed = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${payload}`),
    key,
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
  header: { alg?: unknown },
): string | undefined {
  if (header.alg !== 'RS256') return 'The assertion must be signed with RS256.';
  if (claims.sub !== claims.iss) return 'Issuer and subject differ.';
  if (claims.aud !== `${agent.baseUrl}/_apis/oauth2/token`) return 'The audience is not this endpoint.';
  return wrongTime(fake.now() / 1000, claims);
}

/** Agents recognize a wrong clock by "Current server time is", and retry for half an hour. */
function wrongTime(nowS: number, claims: Claims): string | undefined {
  const nbf = typeof claims.nbf === 'number' ? claims.nbf : 0;
  const exp = typeof claims.exp === 'number' ? claims.exp : 0;
  const server = `Current server time is ${spelled(nowS)}.`;
  if (nbf > nowS + skewS) return `The bearer token is not valid until ${spelled(nbf)}. ${server}`;
  if (exp < nowS - skewS) return `The bearer token expired on ${spelled(exp)}. ${server}`;
  return exp > nowS + maxAssertionS + skewS ? 'The assertion lives too long.' : undefined;
}

/** Returns `1/17/2020 4:03:15 PM`, UTC, as users of the service reported it. */
function spelled(seconds: number): string {
  const date = new Date(seconds * 1000);
  const zone = { timeZone: 'UTC' };
  return `${date.toLocaleDateString('en-US', zone)} ${date.toLocaleTimeString('en-US', zone)}`;
}

function decode(part: string): object {
  try {
    return Object(JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))) as object;
  } catch {
    return {};
  }
}

/** The login of agents: open to every caller, without versions. */
export const oauthRoutes: readonly Route[] = [['POST', /^\/_apis\/oauth2\/token$/u, agentToken]];

/** The RSA key of a registered agent: both parts in base64, as .NET writes them. */
interface AgentPublicKey {
  readonly exponent: string;
  readonly modulus: string;
}

/** Returns undefined if the parts are not a key. */
export function publicKeyOf({ modulus, exponent }: AgentPublicKey): KeyObject | undefined {
  const url = (base64: string) => Buffer.from(base64, 'base64').toString('base64url');
  const [n, e] = [url(modulus), url(exponent)];
  if (n === '' || e === '') return undefined;
  try {
    return createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** Encrypts in base64, as agents read the key of their session. Undefined: no key, or one too short for so many bytes. */
export function encryptedFor(agentKey: AgentPublicKey, bytes: Buffer): string | undefined {
  const key = publicKeyOf(agentKey);
  if (key === undefined) return undefined;
  try {
    const padding = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
    return publicEncrypt(padding, bytes).toString('base64');
  } catch {
    return undefined;
  }
}
