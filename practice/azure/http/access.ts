import type { IncomingHttpHeaders } from 'node:http';
import { agentOf } from '../world/agent-index.ts';
import type { Fake } from '../world/fake.ts';
import { refusal, signInPage, type Reply } from './reply.ts';

export type Caller =
  | {
      readonly kind: 'client';
      readonly by: 'token' | 'service-principal';
      /** The answer to a call for which the token lacks the scope. */
      readonly beyond: Reply;
      /** The same, if it lacks the scope of every write. */
      readonly writes?: Reply;
    }
  /** With the id of a job request: that job's worker, by the job's token. */
  | { readonly kind: 'agent'; readonly agentId: number; readonly requestId?: number }
  | { readonly kind: 'anonymous'; readonly reply: Reply };

export const withdrawn = refusal(
  403,
  'TaskAgentAccessTokenExpiredException',
  'The access token of the agent was withdrawn.',
);

/** Returns the caller by the Authorization header; for an unknown caller with the reply. */
export function identify(fake: Fake, { authorization = '', ...headers }: IncomingHttpHeaders): Caller {
  const [scheme = '', value = ''] = authorization.split(' ');
  const unknown = headers['x-tfs-fedauthredirect'] === undefined ? signInPage : unauthorized(strangers);
  if (scheme.toLowerCase() === 'basic') {
    // The service accepts any user name; clients send none, "PAT", or a person's.
    const [, token = ''] = Buffer.from(value, 'base64').toString('utf8').split(/:(.*)/su);
    return fake.tokens().includes(token)
      ? client(fake, 'token', unknown)
      : { kind: 'anonymous', reply: unknown };
  }
  if (scheme.toLowerCase() === 'bearer') {
    if ((fake.bearers.get(value) ?? 0) > fake.now()) return client(fake, 'service-principal', unknown);
    return agent(fake, value);
  }
  return { kind: 'anonymous', reply: unauthorized('The user is not authorized to access this resource.') };
}

/**
 * Programs request a refusal instead of a redirect to the sign-in page by a header: `az`, agents, Microsoft's clients, this client.
 * The user is the service's id for unknown callers.
 */
const strangers =
  "The user 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' is not authorized to access this resource.";

function unauthorized(why: string): Reply {
  const message = `TF400813: ${why}`;
  return refusal(401, 'UnauthorizedRequestException', message, 'Microsoft.TeamFoundation.Framework.Server');
}

/**
 * Returns the headers of a 401, which list the kinds of login. The agent and other clients of the .NET SDK send their credential only
 * after they have seen its kind, and log in again only on it.
 */
export function challenges(origin: string): string[] {
  return [`Bearer authorization_uri=${origin}/${tenant}`, `Basic realm="${origin}/"`];
}

/** The directory of an organisation without one. */
const tenant = '00000000-0000-0000-0000-000000000000';

function client(fake: Fake, by: 'token' | 'service-principal', unknown: Reply): Caller {
  if (fake.tokenState === 'valid') return { kind: 'client', by, beyond: unknown };
  // A call beyond the scope of the token is answered like one with a wrong token.
  if (fake.tokenState === 'read-only') return { kind: 'client', by, beyond: unknown, writes: unknown };
  if (fake.tokenState === 'revoked') return { kind: 'anonymous', reply: unknown };
  const message = 'Access Denied: The Personal Access Token used has expired.';
  const namespace = 'Microsoft.TeamFoundation.Framework.Server';
  return { kind: 'anonymous', reply: refusal(401, 'AccessCheckException', message, namespace) };
}

function agent(fake: Fake, token: string): Caller {
  const { accessTokens } = fake.state;
  const known = Object.hasOwn(accessTokens, token) ? accessTokens[token] : undefined;
  if (known === undefined)
    return { kind: 'anonymous', reply: unauthorized('The access token is not known.') };
  if (known.until <= fake.now()) {
    return { kind: 'anonymous', reply: unauthorized('The access token has expired.') };
  }
  if (known.requestId !== undefined) return { kind: 'agent', ...known };
  const registered = agentOf(fake.state, known.agentId);
  return registered === undefined || registered.revoked
    ? { kind: 'anonymous', reply: withdrawn }
    : { kind: 'agent', agentId: known.agentId };
}
