import type { Fake } from '../world/fake.ts';
import { refusal, signInPage, type Reply } from './reply.ts';

export type Caller =
  | { readonly kind: 'client'; readonly by: 'token' | 'service-principal' }
  /** With the id of a job request: the worker of that job, by the job's own token. */
  | { readonly kind: 'agent'; readonly agentId: number; readonly requestId?: number }
  | { readonly kind: 'anonymous'; readonly reply: Reply };

export const withdrawn = refusal(
  403,
  'TaskAgentAccessTokenExpiredException',
  'The access token of the agent was withdrawn.',
);

/** Who calls, by the Authorization header; with what to answer to somebody unknown. */
export function identify(fake: Fake, authorization: string | undefined): Caller {
  const [scheme = '', value = ''] = (authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'basic') {
    const [user = '', token = ''] = Buffer.from(value, 'base64').toString('utf8').split(/:(.*)/su);
    return user === '' && fake.tokens().includes(token)
      ? client(fake, 'token')
      : { kind: 'anonymous', reply: signInPage };
  }
  if (scheme.toLowerCase() === 'bearer') {
    if ((fake.bearers.get(value) ?? 0) > fake.now()) return client(fake, 'service-principal');
    return agent(fake, value);
  }
  return {
    kind: 'anonymous',
    reply: refusal(
      401,
      'UnauthorizedRequestException',
      'TF400813: The user is not authorized to access this resource.',
    ),
  };
}

function client(fake: Fake, by: 'token' | 'service-principal'): Caller {
  if (fake.tokenState === 'valid') return { kind: 'client', by };
  if (fake.tokenState === 'revoked') return { kind: 'anonymous', reply: signInPage };
  const message = 'Access Denied: The Personal Access Token used has expired.';
  return { kind: 'anonymous', reply: refusal(401, 'AccessCheckException', message) };
}

function agent(fake: Fake, token: string): Caller {
  const known = fake.state.accessTokens[token];
  if (known?.requestId !== undefined && known.until > fake.now()) return { kind: 'agent', ...known };
  const registered = fake.state.agents.find(({ id }) => id === known?.agentId);
  if (known !== undefined && registered !== undefined && !registered.revoked && known.until > fake.now()) {
    return { kind: 'agent', agentId: known.agentId };
  }
  const ended = known !== undefined && known.until <= fake.now();
  return {
    kind: 'anonymous',
    reply: ended
      ? refusal(401, 'UnauthorizedRequestException', 'TF400813: The access token has expired.')
      : withdrawn,
  };
}
