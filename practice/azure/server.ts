import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { answer, notFound } from './answer.ts';
import { askedVersion } from './discovery/api-version.ts';
import { identify, type Caller } from './http/access.ts';
import { askedHost, askedUrl, belowOrganization, ownUrl } from './http/address.ts';
import { badRequest } from './http/arguments.ts';
import { faultReply } from './http/fault-reply.ts';
import { principalToken } from './http/oauth.ts';
import { parameter } from './http/query.ts';
import type { FakeCall, Reply } from './http/reply.ts';
import { concerned, log } from './http/request-log.ts';
import { parse, readBody } from './http/request.ts';
import { route } from './http/router.ts';
import { write } from './http/write.ts';
import { controlRoutes } from './routes/control/routes.ts';
import type { Fake, LoggedRequest } from './world/fake.ts';
import { takeFault, type Fault } from './world/faults.ts';

/**
 * How long an idle connection stays open: what Azure's load balancers grant. With Node's 5 s, a client on a busy machine
 * reuses a connection in the moment in which the server closes it, and gets ECONNRESET.
 */
const keepAliveTimeoutMs = 240_000;

/** Creates the practice server; the caller listens and closes. */
export function createFakeServer(fake: Fake): Server {
  return createServer({ keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
    void handle(fake, request, response).catch((error: unknown) => {
      const why = error instanceof Error ? error.stack : String(error);
      process.stderr.write(`the practice server failed: ${request.method} ${request.url}: ${why}\n`);
      if (response.headersSent) {
        response.destroy();
        return;
      }
      response.writeHead(500, { 'content-type': 'text/plain' });
      response.end('the practice server failed; its standard error says why\n');
    });
  });
}

async function handle(fake: Fake, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = askedUrl(request.url ?? '/');
  const host = askedHost(request);
  if (url === undefined || host === undefined) {
    await write(response, badRequest);
    return;
  }
  const text = await readBody(request);
  const hangup = new AbortController();
  response.on('close', () => hangup.abort());
  const baseUrl = ownUrl(fake, host);
  const { origin } = new URL(baseUrl);
  const call = (path: string, caller?: Caller): FakeCall => ({
    fake,
    method: request.method ?? 'GET',
    path,
    query: url.searchParams,
    text,
    body: parse(text),
    baseUrl,
    agentId: caller?.kind === 'agent' ? caller.agentId : undefined,
    requestId: caller?.kind === 'agent' ? caller.requestId : undefined,
    accept: request.headers.accept ?? '',
    signal: hangup.signal,
  });
  if (url.pathname.startsWith('/_fake')) {
    await write(response, (await route(controlRoutes, call(url.pathname))) ?? notFound);
    return;
  }
  if (/^\/[^/]+\/oauth2\/v2\.0\/token$/u.test(url.pathname)) {
    const reply = principalToken(fake, text);
    log(fake, request, url, { caller: 'anonymous', status: reply.status });
    await write(response, reply, origin);
    return;
  }
  const caller = identify(fake, request.headers);
  const path = belowOrganization(fake, url.pathname);
  const fault = takeFault(fake.faults, {
    method: request.method ?? 'GET',
    path: path ?? url.pathname,
    agent: caller.kind === 'agent' || path === '/_apis/oauth2/token',
  });
  const about = concerned(fake, path ?? '', parameter(url.searchParams, 'agentName'));
  const asked = askedVersion(url.searchParams, request.headers);
  const reply = await withFault(fault, hangup.signal, async () =>
    path === undefined ? notFound : await answer(caller, call(path, caller), asked),
  );
  log(fake, request, url, { caller: nameOf(caller), status: reply?.status ?? 0, ...about });
  if (reply === undefined) request.socket.destroy();
  else await write(response, withRetryAfter(reply, fault), origin);
}

/** Undefined: close the connection instead of answering. */
async function withFault(
  fault: Fault | undefined,
  signal: AbortSignal,
  work: () => Promise<Reply>,
): Promise<Reply | undefined> {
  if (fault?.delayMs !== undefined) await delay(fault.delayMs, undefined, { signal }).catch(() => undefined);
  if (fault?.drop === 'before') return undefined;
  const refused = fault && faultReply(fault);
  if (refused !== undefined) return refused;
  const reply = await work();
  return fault?.drop === 'after' ? undefined : reply;
}

function withRetryAfter(reply: Reply, fault: Fault | undefined): Reply {
  if (fault?.retryAfterS === undefined) return reply;
  return { ...reply, headers: { ...reply.headers, 'retry-after': String(fault.retryAfterS) } };
}

function nameOf(caller: Caller): LoggedRequest['caller'] {
  return caller.kind === 'client' ? caller.by : caller.kind;
}
