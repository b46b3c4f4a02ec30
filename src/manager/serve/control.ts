import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defined, isObject } from '../../shared/base/objects.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { foreignJson, foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import type { DrainOrder, UndrainOrder } from '../../shared/contract/drain.ts';
import { ask } from './ask.ts';

/** What the control socket can do; the daemon fills it in. */
export interface ControlHandlers {
  status(): unknown;
  runs(slot: string | undefined, limit: number): Promise<unknown>;
  /** The output of the slot's container, or of its last run. */
  logs(slot: string, tail: number): Promise<string>;
  /** The agent's own logs of this failed run of the slot, or of the last one that has some. */
  diagnostics(slot: string, run: string | undefined): Promise<string>;
  drain(order: DrainOrder): Promise<unknown>;
  undrain(order: UndrainOrder): Promise<unknown>;
  adopt(order: { readonly slots: readonly string[] }): Promise<unknown>;
  /** `gpu`: PCI address, or `all`. */
  repaired(order: { readonly gpu: string }): Promise<unknown>;
  /** Sends a message to the webhook that says that it is a test. */
  testWebhook(): Promise<unknown>;
  /** Begins a build or pull of the agents' image. */
  renewImage(order: { readonly fresh: boolean }): unknown;
}

const bodyLimit = 64 * 1024;

/** HTTP on a unix socket that only root may open. */
export async function serveControl(path: string, handlers: ControlHandlers): Promise<Server> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await refuseSecond(path);
  await rm(path, { force: true });
  const server = createServer((request, response) => {
    void answer(handlers, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(path, resolve);
  });
  // Nobody else can reach it before either: the folder is root's alone.
  await chmod(path, 0o600);
  return server;
}

/** Two managers would take each other's containers for their own. */
async function refuseSecond(path: string): Promise<void> {
  const answered = await ask(path, { method: 'GET', path: '/v1/status' }).then(
    () => true,
    () => false,
  );
  if (!answered) return;
  throw new FleetError({
    code: 'manager.already-running',
    what: `another manager already runs on this machine and answers on ${path}`,
    next: 'use that one, or stop it: systemctl stop azp-fleet-manager',
  });
}

async function answer(
  handlers: ControlHandlers,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const result = await route(handlers, request);
    if (typeof result === 'string') send(response, 200, 'text/plain; charset=utf-8', result);
    else send(response, 200, 'application/json', `${JSON.stringify(result)}\n`);
  } catch (error) {
    const problem =
      error instanceof FleetError ? error.problem : { code: 'manager.failed', what: String(error) };
    send(response, statusOf(problem.code), 'application/json', `${JSON.stringify(problem)}\n`);
  }
}

async function route(handlers: ControlHandlers, request: IncomingMessage): Promise<unknown> {
  const url = new URL(request.url ?? '/', 'http://manager');
  const slot = url.searchParams.get('slot') ?? undefined;
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /v1/status':
      return handlers.status();
    case 'GET /v1/runs':
      return handlers.runs(slot, number(url.searchParams.get('limit'), 20));
    case 'GET /v1/logs':
      if (slot === undefined) throw bad('the query needs slot=NAME');
      return handlers.logs(slot, number(url.searchParams.get('tail'), 200));
    case 'GET /v1/diagnostics':
      if (slot === undefined) throw bad('the query needs slot=NAME');
      return handlers.diagnostics(slot, url.searchParams.get('run') ?? undefined);
    case 'POST /v1/drain': {
      const body = await readBody(request);
      return handlers.drain({
        slots: names(body['slots']),
        reason: text(body['reason']) ?? '',
        ...defined({ owner: text(body['owner']), run: text(body['run']) }),
      });
    }
    case 'POST /v1/undrain': {
      const body = await readBody(request);
      return handlers.undrain({
        slots: names(body['slots']),
        hostOnly: body['hostOnly'] === true,
        ...defined({ run: text(body['run']) }),
      });
    }
    case 'POST /v1/adopt':
      return handlers.adopt({ slots: names((await readBody(request))['slots']) });
    case 'POST /v1/repaired': {
      const gpu = text((await readBody(request))['gpu']);
      if (gpu === undefined) throw bad('the body needs gpu: an address or all');
      return handlers.repaired({ gpu });
    }
    case 'POST /v1/image':
      return handlers.renewImage({ fresh: (await readBody(request))['fresh'] === true });
    case 'POST /v1/webhook':
      return handlers.testWebhook();
    default:
      throw new FleetError({
        code: 'control.not-found',
        what: `no such call: ${request.method} ${url.pathname}`,
      });
  }
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  let raw = '';
  for await (const chunk of request) {
    raw += String(chunk);
    if (raw.length > bodyLimit) throw bad('the body is too long');
  }
  if (raw.trim() === '') return {};
  const value = foreignJson(raw);
  if (!isObject(value)) throw bad('the body is no JSON object');
  // Reasons and names are kept, shown, and told to the pool.
  return foreignValue(value, (said) => foreignLine(said));
}

function names(value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  throw bad('slots must be a list of names');
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: string | null, otherwise: number): number {
  const parsed = Number.parseInt(value ?? '', 10);
  return Number.isFinite(parsed) && parsed > 0 ? Math.min(parsed, 10_000) : otherwise;
}

function bad(what: string): FleetError {
  return new FleetError({ code: 'control.bad-request', what });
}

function statusOf(code: string): number {
  if (code === 'control.bad-request' || code === 'slot.unknown' || code === 'gpu.unknown') return 400;
  if (code === 'webhook.none') return 400;
  if (code === 'drain.at-work') return 409;
  return code === 'control.not-found' || code === 'runs.no-diagnostics' ? 404 : 500;
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
