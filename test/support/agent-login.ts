import { createPrivateKey, sign, type KeyObject } from 'node:crypto';

/** The key of `.credentials_rsaparams`. */
export function privateKey(file: Readonly<Record<string, string>>): KeyObject {
  const part = (name: string) => Buffer.from(file[name] ?? '', 'base64').toString('base64url');
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: part('modulus'),
      e: part('exponent'),
      d: part('d'),
      p: part('p'),
      q: part('q'),
      dp: part('dp'),
      dq: part('dq'),
      qi: part('inverseQ'),
    },
  });
}

/** Body of an agent's request for an access token. */
export function loginForm(claims: object, key: KeyObject): URLSearchParams {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  const signature = sign('RSA-SHA256', Buffer.from(unsigned), key).toString('base64url');
  return new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: `${unsigned}.${signature}`,
  });
}
