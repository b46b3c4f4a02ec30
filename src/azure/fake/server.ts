import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, type Caller } from './http/access.ts';
import { belowOrganization, ownUrl } from './http/address.ts';
import { feedbackRoutes } from './routes/agent/feedback.ts';
import { planRoutes } from './routes/agent/plans.ts';
import { requestRoutes } from './routes/agent/requests.ts';
import { sessionRoutes } from './routes/agent/sessions.ts';
import { taskRoutes } from './routes/agent/tasks.ts';
import { timelineRoutes } from './routes/agent/timelines.ts';
import { agentRoutes } from './routes/agents.ts';
import { controlRoutes } from './routes/control.ts';
import type { Fake, LoggedRequest } from './world/fake.ts';
import { takeFault, type Fault } from './world/faults.ts';
import { oauthRoutes, principalToken } from './http/oauth.ts';
import { poolRoutes } from './routes/pools.ts';
import { projectRoutes } from './routes/projects.ts';
import {
  accessDenied,
  refusal,
  serviceHeaders,
  signInPage,
  signInRedirect,
  type FakeCall,
  type Reply,
  type Route,
} from './http/reply.ts';
import { assignedRequest } from './world/queue.ts';

const management: readonly Route[] = [
  ...oauthRoutes,
  ...poolRoutes,
  ...agentRoutes,
  ...projectRoutes,
  ...taskRoutes,
];
/** What the token of a job is good for: its worker calls with it. */
const work: readonly Route[] = [
  ...planRoutes,
  ...timelineRoutes,
  ...taskRoutes,
  ...feedbackRoutes,
  ...oauthRoutes.slice(1),
];
/** What an agent's own access token is good for. Nothing but the tasks is open to a personal access token. */
const protocol: readonly Route[] = [...sessionRoutes, ...requestRoutes, ...work];

const notFound: Reply = { status: 404, html: '<html><body>404 - File or directory not found.</body></html>' };

/** The fake as an HTTP server; the caller listens and closes. */
export function createFakeServer(fake: Fake): Server {
  return createServer((request, response) => {
    void handle(fake, request, response).catch((error: unknown) => {
      response.writeHead(500, { 'content-type': 'text/plain' });
      response.end(`the fake server failed: ${error instanceof Error ? error.stack : String(error)}\n`);
    });
  });
}

async function handle(fake: Fake, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://fake');
  const text = await readBody(request);
  const hangup = new AbortController();
  response.on('close', () => hangup.abort());
  const call = (path: string, caller: Partial<Pick<FakeCall, 'agentId' | 'requestId'>> = {}): FakeCall => ({
    fake,
    method: request.method ?? 'GET',
    path,
    query: url.searchParams,
    text,
    body: parse(text),
    baseUrl: ownUrl(fake, request.headers.host),
    agentId: caller.agentId,
    requestId: caller.requestId,
    accept: request.headers.accept ?? '',
    signal: hangup.signal,
  });
  if (url.pathname.startsWith('/_fake')) {
    write(response, (await route(controlRoutes, call(url.pathname))) ?? notFound);
    return;
  }
  if (/^\/[^/]+\/oauth2\/v2\.0\/token$/u.test(url.pathname)) {
    const reply = principalToken(fake, text);
    log(fake, request, url, { caller: 'anonymous', status: reply.status });
    write(response, reply);
    return;
  }
  const caller = identify(fake, request.headers.authorization);
  const path = belowOrganization(fake, url.pathname);
  const fault = takeFault(fake.faults, {
    method: request.method ?? 'GET',
    path: path ?? url.pathname,
    agent: caller.kind === 'agent' || path === '/_apis/oauth2/token',
  });
  const about = concerned(fake, path ?? '', url.searchParams.get('agentName'));
  const reply = await answer(fault, caller, path, call, hangup.signal);
  log(fake, request, url, { caller: nameOf(caller), status: reply?.status ?? 0, ...about });
  if (reply === undefined) request.socket.destroy();
  else write(response, withRetryAfter(reply, fault));
}

/** Undefined: close the connection instead of answering. */
async function answer(
  fault: Fault | undefined,
  caller: Caller,
  path: string | undefined,
  call: (path: string, caller?: Caller & { kind: 'agent' }) => FakeCall,
  signal: AbortSignal,
): Promise<Reply | undefined> {
  if (fault?.delayMs !== undefined) await delay(fault.delayMs, undefined, { signal }).catch(() => undefined);
  if (fault?.drop === 'before') return undefined;
  if (fault?.status !== undefined) return faultReply(fault.status);
  if (path === undefined) return notFound;
  const reply = await serve(caller, path, call);
  return fault?.drop === 'after' ? undefined : reply;
}

async function serve(
  caller: Caller,
  path: string,
  call: (path: string, caller?: Caller & { kind: 'agent' }) => FakeCall,
): Promise<Reply> {
  if (path === '/_apis/oauth2/token') return (await route(oauthRoutes, call(path))) ?? notFound;
  if (caller.kind === 'anonymous') return caller.reply;
  if (caller.kind === 'client') return (await route(management, call(path))) ?? notFound;
  const routes = caller.requestId === undefined ? protocol : work;
  return (
    (await route(routes, call(path, caller))) ?? accessDenied('more than the access token of an agent allows')
  );
}

async function route(routes: readonly Route[], call: FakeCall): Promise<Reply | undefined> {
  for (const [method, pattern, handler] of routes) {
    const match = method === call.method ? pattern.exec(call.path) : null;
    if (match !== null) return await handler(call, ...match.slice(1));
  }
  return undefined;
}

function faultReply(status: number): Reply {
  if (status === 203) return signInPage;
  if (status === 302) return signInRedirect;
  if (status === 429) {
    return refusal(
      429,
      '',
      'TF400733: The request has been canceled: Request was blocked due to exceeding usage.',
    );
  }
  return { status, html: `<html><body>${status}</body></html>` };
}

function withRetryAfter(reply: Reply, fault: Fault | undefined): Reply {
  if (fault?.retryAfterS === undefined) return reply;
  return { ...reply, headers: { ...reply.headers, 'retry-after': String(fault.retryAfterS) } };
}

function write(response: ServerResponse, reply: Reply): void {
  const { content = { type: 'text/html; charset=utf-8', bytes: reply.html } } = reply;
  const type = reply.json === undefined ? content.type : 'application/json; charset=utf-8; api-version=7.1';
  const bodyless = reply.json === undefined && content.bytes === undefined;
  const headers = serviceHeaders(type);
  if (bodyless) delete headers['content-type'];
  response.writeHead(reply.status, { ...headers, ...reply.headers });
  response.end(reply.json === undefined ? content.bytes : JSON.stringify(reply.json));
}

const maxLogged = 20_000;

function nameOf(caller: Caller): LoggedRequest['caller'] {
  return caller.kind === 'client' ? caller.by : caller.kind;
}

/** The state of the agent that the call is about, as it is when the call comes. */
function concerned(fake: Fake, path: string, name: string | null): Pick<LoggedRequest, 'agentHasJob'> {
  const id = /\/agents\/(\d+)/u.exec(path)?.[1];
  const agent = fake.state.agents.find((each) =>
    id === undefined ? each.name.toLowerCase() === name?.toLowerCase() : each.id === Number(id),
  );
  return agent === undefined ? {} : { agentHasJob: assignedRequest(fake, agent.id) !== undefined };
}

function log(
  fake: Fake,
  request: IncomingMessage,
  url: URL,
  outcome: Pick<LoggedRequest, 'caller' | 'status' | 'agentHasJob'>,
): void {
  fake.requestLog.push({
    n: (fake.requestLog.at(-1)?.n ?? 0) + 1,
    at: new Date(fake.now()).toISOString(),
    method: request.method ?? '',
    path: url.pathname,
    query: url.search,
    ...outcome,
  });
  if (fake.requestLog.length > maxLogged) fake.requestLog.splice(0, maxLogged / 2);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
