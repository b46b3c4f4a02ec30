// Exchanges a signed assertion for an access token.
import { randomUUID, sign } from 'node:crypto';
import { NetworkError, ServerError } from './errors.mjs';

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function assertion({ clientId, authorizationUrl, privateKey }) {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    sub: clientId,
    jti: randomUUID(),
    iss: clientId,
    aud: authorizationUrl,
    nbf: now,
    exp: now + 300,
  };
  const unsigned = `${encode({ typ: 'JWT', alg: 'RS256' })}.${encode(claims)}`;
  return `${unsigned}.${sign('RSA-SHA256', Buffer.from(unsigned), privateKey).toString('base64url')}`;
}

/** Sent to `oauthEndpointUrl`, signed for `authorizationUrl`: they differ if the server has another public name. */
export async function loginToken(settings, signal) {
  const response = await fetch(settings.oauthEndpointUrl, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion(settings),
    }).toString(),
    signal,
  }).catch((error) => {
    throw signal?.aborted ? error : new NetworkError(error, settings.oauthEndpointUrl);
  });
  const answer = await response.json().catch(() => ({}));
  // The client reads the member without the underscore.
  if (!response.ok)
    throw new ServerError(
      response.status,
      answer.error,
      answer.errordescription ?? answer.error ?? 'no token',
    );
  return answer.access_token;
}
