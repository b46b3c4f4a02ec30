// Talks to the server as an agent: access tokens by a signed assertion, then JSON with a bearer token.
import { randomUUID, sign } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

export class ServerError extends Error {
  constructor(status, typeKey, message) {
    super(message);
    this.status = status;
    this.typeKey = typeKey ?? '';
  }
}

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function assertion(settings) {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: settings.clientId,
    sub: settings.clientId,
    aud: settings.authorizationUrl,
    jti: randomUUID(),
    nbf: now,
    exp: now + 300,
  };
  const unsigned = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${unsigned}.${sign('RSA-SHA256', Buffer.from(unsigned), settings.privateKey).toString('base64url')}`;
}

/** `settings.speed` divides the pauses between attempts. */
export function connect(settings) {
  let token;
  const login = async () => {
    const response = await fetch(settings.authorizationUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion(settings),
      }).toString(),
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok)
      throw new ServerError(response.status, answer.error, answer.error_description ?? 'no token');
    token = { value: answer.access_token, until: Date.now() + (answer.expires_in * 1000) / 2 };
  };
  const once = async (method, path, { body, text, signal }) => {
    if (token === undefined || token.until < Date.now()) await login();
    const response = await fetch(`${settings.serverUrl}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${token.value}`,
        accept: 'application/json; api-version=5.1-preview.1',
        'content-type': 'application/json',
      },
      body: text ?? (body === undefined ? undefined : JSON.stringify(body)),
      signal,
    });
    if (response.status === 401) token = undefined;
    const content = await response.text();
    if (response.status === 204 || response.status === 202) return undefined;
    let json = {};
    try {
      json = JSON.parse(content);
    } catch {
      if (response.ok) throw new ServerError(response.status, 'NotJson', 'the answer is not JSON');
    }
    if (!response.ok || response.status === 203)
      throw new ServerError(response.status, json.typeKey, json.message);
    return json;
  };
  return {
    /** Tries again after what may pass: no connection, 401 once, 429, 5xx. */
    send: async (method, path, options = {}) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(method, path, options);
        } catch (error) {
          if (error.name === 'AbortError' || options.signal?.aborted) throw error;
          const passing = error.status === undefined || error.status === 429 || error.status >= 500;
          const again = passing ? attempt < (options.attempts ?? 10) : error.status === 401 && attempt < 3;
          if (!again) throw error;
          await delay((Math.min(30, 2 ** attempt) * 1000) / settings.speed, undefined, {
            signal: options.signal,
          });
        }
      }
    },
  };
}
