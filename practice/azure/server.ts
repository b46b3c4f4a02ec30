import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { answer, notFound } from './answer.ts';
import { askedVersion } from './discovery/api-version.ts';
import { type Caller, challenges, identify } from './http/access.ts';
import { askedHost, askedUrl, belowOrganization, ownUrl } from './http/address.ts';
import { badRequest, parameter } from './http/arguments.ts';
import { entraReply } from './http/entra.ts';
import { asksMachine, machineToken } from './http/machine-identity.ts';
import {
  type FakeCall,
  type Reply,
  refusal,
  serviceHeaders,
  signInPage,
  signInRedirect,
} from './http/reply.ts';
import { route } from './http/router.ts';
import { controlRoutes } from './routes/control.ts';
import { agentNamed, agentOf } from './world/agent-index.ts';
import { type Fake, type Fault, type LoggedRequest, takeFault } from './world/fake.ts';
import { assignedRequest } from './world/queue.ts';

/**
 * How long an idle connection stays open: as long as at Azure's load balancers. With Node's 5 s, a client on a busy machine
 * reuses a connection while the server closes it, and gets ECONNRESET.
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
  response.setHeader('date', new Date(fake.now()).toUTCString());
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
  const entra = entraReply(fake, new URL(url.pathname, origin), text);
  if (entra !== undefined) {
    log(fake, request, url, { caller: 'anonymous', status: entra.status });
    await write(response, entra, origin);
    return;
  }
  if (asksMachine(fake, url)) {
    const reply = machineToken(fake, request, url.searchParams);
    log(fake, request, url, { caller: 'anonymous', status: reply?.status ?? 0 });
    if (reply === undefined) request.socket.destroy();
    else await write(response, reply);
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
  if (fault?.rawStatus !== undefined) {
    log(fake, request, url, { caller: nameOf(caller), status: Number(fault.rawStatus), ...about });
    request.socket.end(rawAnswer(fault.rawStatus));
    return;
  }
  const reply = await withFault(fault, hangup.signal, async () =>
    path === undefined ? notFound : await answer(caller, call(path, caller), asked),
  );
  log(fake, request, url, { caller: nameOf(caller), status: reply?.status ?? 0, ...about });
  if (reply === undefined) request.socket.destroy();
  else await write(response, withHeaders(reply, fault), origin);
}

/** Returns undefined if the connection is to be closed without an answer. */
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
  if (fault?.brokenJson === true && (reply.json ?? reply.items) !== undefined)
    return { status: reply.status, headers: { ...reply.headers }, content: brokenJson };
  return fault?.drop === 'after' ? undefined : reply;
}

/** The start of a list. */
const brokenJson = { type: 'application/json; charset=utf-8', bytes: '{"count":1,"value":[{"id":' };

function withHeaders(reply: Reply, { retryAfterS, headers }: Partial<Fault> = {}): Reply {
  const pause = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) };
  return { ...reply, headers: { ...reply.headers, ...pause, ...headers } };
}

/** Returns an answer that no HTTP library would send. */
function rawAnswer(status: string): string {
  const upgrade = status === '101' ? 'connection: upgrade\r\nupgrade: websocket\r\n' : '';
  return `HTTP/1.1 ${status} Odd\r\n${upgrade}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;
}

function nameOf(caller: Caller): LoggedRequest['caller'] {
  return caller.kind === 'client' ? caller.by : caller.kind;
}

/** Returns the whole body as text. */
async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/** Parses a JSON body as an object; returns an empty one otherwise. */
function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Sends an answer with the service's headers; `origin` is the server's own. A list is sent in pieces. */
export async function write(response: ServerResponse, reply: Reply, origin = ''): Promise<void> {
  const { json, items, content = { type: 'text/html; charset=utf-8', bytes: reply.html } } = reply;
  const asJson = json !== undefined || items !== undefined;
  const version = reply.apiVersion === undefined ? '' : `; api-version=${reply.apiVersion}`;
  const headers = serviceHeaders(asJson ? `application/json; charset=utf-8${version}` : content.type);
  if (!asJson && content.bytes === undefined) delete headers['content-type'];
  response.writeHead(reply.status, {
    ...headers,
    ...(reply.status === 401 ? { 'www-authenticate': challenges(origin) } : {}),
    ...reply.headers,
  });
  if (items !== undefined) {
    await pipeline(Readable.from(pieces(items)), response).catch((error: unknown) => {
      if (!hungUp(error)) throw error;
    });
  } else response.end(json === undefined ? content.bytes : JSON.stringify(json));
}

/** Ignores callers that hang up. */
function hungUp(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown };
  return hangUps.some((each) => each === code);
}

const hangUps = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ECONNRESET', 'EPIPE'];

/** Characters that are buffered before sending. */
const pieceSize = 256 * 1024;

function* pieces({ count, value }: NonNullable<Reply['items']>): Iterable<string> {
  let piece = `{"count":${count},"value":[`;
  let separator = '';
  for (const item of value) {
    piece += `${separator}${JSON.stringify(item)}`;
    separator = ',';
    if (piece.length < pieceSize) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]}`;
}

const maxLogged = 20_000;

type Concerned = Pick<LoggedRequest, 'agent' | 'agentHasJob'>;

/** Returns the agent that the call is about, before the call changes it. */
function concerned(fake: Fake, path: string, name: string | undefined): Concerned {
  const [, pool, id] = /\/pools\/(\d+)\/agents(?:\/(\d+))?/u.exec(path) ?? [];
  const agent =
    id === undefined ? agentNamed(fake.state, Number(pool), name ?? '') : agentOf(fake.state, Number(id));
  if (agent === undefined) return {};
  return { agent: agent.name, agentHasJob: assignedRequest(fake, agent.id) !== undefined };
}

/** Records a call, without its credential. */
function log(
  fake: Fake,
  request: IncomingMessage,
  url: URL,
  outcome: Concerned & Pick<LoggedRequest, 'caller' | 'status'>,
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

/** Returns the answer of a fault; undefined: the call is executed. */
function faultReply({ status, deactivated }: Fault): Reply | undefined {
  if (deactivated === true) return stopped;
  if (status === undefined) return undefined;
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

const message =
  'TF24668: The following team project collection is stopped: lab. Start the collection and then try again. Administrator Reason: This Azure DevOps organization has been deactivated due to inactivity. For more information please visit aka.ms/adofootprintreduction';
const namespace = 'Microsoft.VisualStudio.Services.Common';

/** The answer of an unused organisation, as recorded: JSON after a byte order mark, and the message again in a header. */
const stopped: Reply = {
  status: 503,
  html: `\uFEFF${JSON.stringify(refusal(503, 'VssServiceException', message, namespace).json)}`,
  headers: { 'content-type': 'application/json', 'x-tfs-serviceerror': encodeURIComponent(message) },
};
