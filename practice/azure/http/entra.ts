import { constants, type KeyObject, randomUUID, verify, X509Certificate } from 'node:crypto';

import { type Fake, type FakeApplication, rule } from '../world/fake.ts';
import { type Reply, ok } from './reply.ts';

/** The resource of Azure DevOps. */
export const resource = '499b84ac-1321-427f-aa17-267ca6975798';
const longestS = 10 * 60;
const skewS = 5 * 60;

const refused = (error: string, description: string): Reply => ({
  status: 401,
  json: { error, error_description: `${description}\r\nTrace ID: none` },
});

/** Returns a new token, which the organization accepts. */
export function issuedToken(fake: Fake) {
  const token = randomUUID();
  fake.bearers.set(token, fake.now() + rule(fake, 'accessToken'));
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.ceil(rule(fake, 'accessToken') / 1000),
  };
}

const issued = (fake: Fake): Reply => ok(issuedToken(fake));

/** Answers at an address of Microsoft Entra ID: the token endpoint, and the document that names it. Undefined: another address. */
export function entraReply(fake: Fake, { pathname, origin }: URL, text: string): Reply | undefined {
  const [, tenant, rest] = /^\/([^/]+)\/(.+)$/u.exec(pathname) ?? [];
  const directory = `${origin}/${tenant}`;
  if (rest === 'oauth2/v2.0/token') return principalToken(fake, text, `${directory}/${rest}`);
  if (rest !== 'v2.0/.well-known/openid-configuration') return undefined;
  return ok({
    issuer: `${directory}/v2.0`,
    authorization_endpoint: `${directory}/oauth2/v2.0/authorize`,
    token_endpoint: `${directory}/oauth2/v2.0/token`,
    jwks_uri: `${directory}/discovery/v2.0/keys`,
  });
}

/**
 * Imitates the token endpoint of Microsoft Entra ID. Accepts any client id with one of the accepted tokens as its secret, and the
 * applications of the control interface with an assertion.
 */
function principalToken(fake: Fake, text: string, endpoint: string): Reply {
  const form = new URLSearchParams(text);
  if (fake.tokenState !== 'valid')
    return refused('invalid_client', 'AADSTS7000215: Invalid client secret provided.');
  if (!form.has('client_assertion'))
    return fake.tokens().includes(form.get('client_secret') ?? '')
      ? issued(fake)
      : refused('invalid_client', 'AADSTS7000215: Invalid client secret provided.');
  const refusal = formRefusal(form) ?? assertionRefusal(fake, form, endpoint);
  return refusal === undefined ? issued(fake) : refused('invalid_client', refusal);
}

function formRefusal(form: URLSearchParams): string | undefined {
  if (form.get('grant_type') !== 'client_credentials')
    return 'AADSTS70003: The app requested an unsupported grant type.';
  if (form.get('scope') !== `${resource}/.default`) return 'AADSTS70011: The provided scope is not valid.';
  if (form.get('client_assertion_type') !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    return 'AADSTS50027: Invalid client_assertion_type.';
  return form.has('client_secret') ? 'AADSTS7000216: Both a secret and an assertion.' : undefined;
}

function assertionRefusal(fake: Fake, form: URLSearchParams, endpoint: string): string | undefined {
  const clientId = form.get('client_id');
  const tenant = new URL(endpoint).pathname.split('/')[1];
  const application = fake.applications.find((each) => each.clientId === clientId);
  if (application === undefined || application.tenantId !== tenant)
    return `AADSTS700016: Application with identifier '${clientId}' was not found in the directory.`;
  const token = decoded(form.get('client_assertion') ?? '');
  if (token === undefined) return 'AADSTS50027: JWT token is invalid or malformed.';
  if (application.federation !== undefined) return federationRefusal(fake, application.federation, token);
  if (application.certificate === undefined) return 'AADSTS700027: The application has no certificate.';
  const { claims } = token;
  const certificate = new X509Certificate(application.certificate);
  const { x5t, 'x5t#S256': x5tS256 } = token.header;
  if (x5t !== thumbprint(certificate.fingerprint) && x5tS256 !== thumbprint(certificate.fingerprint256))
    return 'AADSTS700027: The certificate with this identifier is not registered on the application.';
  const refusal = tokenRefusal(token, certificate.publicKey, endpoint, fake.now() / 1000);
  if (refusal !== undefined) return refusal;
  if (claims['iss'] !== clientId || claims['sub'] !== clientId)
    return 'AADSTS700021: Client assertion application identifier does not match client_id.';
  if (Number(claims['exp']) > fake.now() / 1000 + longestS + skewS)
    return 'AADSTS700024: Client assertion lives longer than ten minutes.';
  const { jti } = claims;
  if (typeof jti !== 'string' || fake.usedAssertions.has(jti))
    return 'AADSTS700029: The assertion has no new jti: it was used before.';
  fake.usedAssertions.add(jti);
  return undefined;
}

/** A token of another issuer may be used until it ends. */
function federationRefusal(
  fake: Fake,
  { issuer, subject, audience, certificate }: NonNullable<FakeApplication['federation']>,
  token: Token,
): string | undefined {
  const { iss, sub } = token.claims;
  if (iss !== issuer || sub !== subject)
    return 'AADSTS70021: No matching federated identity record found for presented assertion.';
  return tokenRefusal(token, new X509Certificate(certificate).publicKey, audience, fake.now() / 1000);
}

interface Token {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signed: string;
  readonly signature: Buffer;
}

function decoded(assertion: string): Token | undefined {
  const [header = '', payload = '', signature = '', ...rest] = assertion.split('.');
  if (rest.length > 0 || signature === '') return undefined;
  try {
    const read = (part: string): Readonly<Record<string, unknown>> =>
      Object(JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))) as Record<string, unknown>;
    return {
      header: read(header),
      claims: read(payload),
      signed: `${header}.${payload}`,
      signature: Buffer.from(signature, 'base64url'),
    };
  } catch {
    return undefined;
  }
}

/** By the algorithm's name. */
const paddings: Readonly<Record<string, number>> = {
  RS256: constants.RSA_PKCS1_PADDING,
  PS256: constants.RSA_PKCS1_PSS_PADDING,
};

/** Checks algorithm, signature, audience and times. */
function tokenRefusal(
  { header, claims, signed, signature }: Token,
  key: KeyObject,
  audience: string,
  nowS: number,
): string | undefined {
  const padding = paddings[String(header['alg'])];
  if (padding === undefined) return 'AADSTS5002738: Invalid JWT token: unsupported algorithm.';
  if (!verify('RSA-SHA256', Buffer.from(signed), { key, padding }, signature))
    return 'AADSTS700027: Client assertion failed signature validation.';
  if (claims['aud'] !== audience) return 'AADSTS700023: Client assertion audience claim does not match.';
  const [nbf, exp] = [Number(claims['nbf'] ?? 0), Number(claims['exp'])];
  if (!(exp > nowS - skewS) || nbf > nowS + skewS)
    return 'AADSTS700024: Client assertion is not within its valid time range.';
  return undefined;
}

function thumbprint(fingerprint: string): string {
  return Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url');
}

/** Returns whether a text is a certificate as PEM. */
export function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).publicKey.asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
