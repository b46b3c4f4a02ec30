import { type IncomingMessage, type Server, type ServerResponse, request } from 'node:http';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defined, isObject } from '../../shared/base/objects.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { foreignJson, foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import {
  type Drain,
  type DrainOrder,
  isEndedBy,
  type UndrainOrder,
  type UndrainOwnOrder,
} from '../../shared/contract/drain.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { State } from '../state.ts';
import {
  drainsOf,
  everySlot,
  withAdopted,
  withDrain,
  withoutDrain,
  withoutOwnDrain,
} from '../slots/drains.ts';
import { drainEvent, undrainEvents } from '../history/changes.ts';
import { longestS } from '../history/retention.ts';
import { diagnosticsText, newestFirst } from '../runs/run-store.ts';
import { checkNames } from '../slots/resolve.ts';
import { withoutRejections } from '../image/choice.ts';
import { Labels } from '../../shared/contract/paths.ts';
import { currentWork, type CurrentWork, type WorkPaths } from '../machine/at-work.ts';
import type { Manager } from '../manager.ts';
import type { Watches } from '../watches.ts';
import type { ManagerTools } from '../manager-tools.ts';
import type { Messenger } from '../webhook/messenger.ts';
import { readRefusal } from '../../shared/contract/refusal.ts';
import type { Logger } from '../../shared/base/log.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { boundedServer, listen } from './server.ts';

/** Events in an answer. */
const mostEvents = 1000;

/** The calls of the control socket. */
export interface ControlHandlers {
  status(): unknown;
  runs(slot: string | undefined, limit: number): Promise<unknown>;
  /** Returns the output of the slot's container, or of its last run. */
  logs(slot: string, tail: number): Promise<string>;
  /** Returns the agent's own logs of a failed run of the slot, or of the last run that has some. */
  diagnostics(slot: string, run: string | undefined): Promise<string>;
  drain(order: DrainOrder): Promise<unknown>;
  undrain(order: UndrainOrder): Promise<unknown>;
  undrainOwn(order: UndrainOwnOrder): Promise<unknown>;
  adopt(order: { readonly slots: readonly string[] }): Promise<unknown>;
  /** `gpu`: PCI address, or `all`. */
  repaired(order: { readonly gpu: string }): Promise<unknown>;
  /** Sends a test message to the webhook. */
  testWebhook(): Promise<unknown>;
  /** `since`: seconds since the epoch. */
  history(since: number, limit: number): Promise<unknown>;
  /** Returns the GPU samples of the last hours. */
  series(hours: number): Promise<unknown>;
  /** Starts a build or pull of the agent image. */
  renewImage(order: { readonly fresh: boolean }): unknown;
}

/** Serves HTTP on a unix socket that only root may open. */
export async function serveControl(path: string, handlers: ControlHandlers, log: Logger): Promise<Server> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await refuseSecond(path);
  await rm(path, { force: true });
  const server = boundedServer(readerBounds.controlSocket, log, (request, response) =>
    answer(handlers, request, response),
  );
  await listen(server, { path });
  // Before this line the folder, which only root may enter, protects it.
  await chmod(path, 0o600);
  return server;
}

/** Throws if another manager answers on the socket: two managers would use each other's containers. */
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
    case 'GET /v1/history':
      return handlers.history(
        Date.parse(time(url.searchParams.get('since')) ?? '') / 1000 || 0,
        Math.min(number(url.searchParams.get('limit'), mostEvents), mostEvents),
      );
    case 'GET /v1/series':
      return handlers.series(Math.min(number(url.searchParams.get('hours'), 24), longestS / 3600));
    case 'POST /v1/drain': {
      const body = await readBody(request);
      return handlers.drain({
        slots: names(body['slots']),
        reason: text(body['reason']) ?? '',
        ...defined({
          owner: text(body['owner']),
          run: text(body['run']),
          command: text(body['command']),
          until: time(body['until']),
        }),
      });
    }
    case 'POST /v1/undrain': {
      const body = await readBody(request);
      return handlers.undrain({
        slots: names(body['slots']),
        ...defined({ run: text(body['run']) }),
      });
    }
    case 'POST /v1/undrain-own': {
      const body = await readBody(request);
      return handlers.undrainOwn({
        slots: names(body['slots']),
        ...defined({ owner: text(body['owner']), of: text(body['of']) }),
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
    if (raw.length > readerBounds.controlSocket.bytes) throw bad('the body is too long');
  }
  if (raw.trim() === '') return {};
  const value = foreignJson(raw);
  if (!isObject(value)) throw bad('the body is not a JSON object');
  // Reasons and names are saved, shown, and written to the pool.
  return foreignValue(value, (line) => foreignLine(line));
}

function names(value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  throw bad('slots must be a list of names');
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function time(value: unknown): string | undefined {
  const given = text(value);
  if (given !== undefined && Number.isNaN(Date.parse(given))) throw bad('a time is not in ISO 8601');
  return given;
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

/** The parts of the running daemon that the control socket uses. */
interface ControlTools {
  readonly tools: ManagerTools;
  readonly manager: Manager;
  readonly watches: Pick<Watches, 'renewImage' | 'gpus' | 'checkSoon' | 'pools'>;
  readonly status: () => ManagerStatus;
  readonly wake: () => void;
  readonly messenger: Pick<Messenger, 'test'>;
  readonly paths: WorkPaths;
}

/** Returns the handlers of the control socket for a running daemon. */
export function controlHandlers(daemon: ControlTools): ControlHandlers {
  const { tools, manager, watches } = daemon;
  const known = (): readonly string[] => manager.slots().map(({ name }) => name);
  const changed = (): ManagerStatus => {
    watches.pools.readSoon();
    daemon.wake();
    return daemon.status();
  };
  return {
    status: daemon.status,
    ...runHandlers(tools, known),
    ...drainHandlers(tools, daemon.paths, known, changed),
    async adopt({ slots }) {
      checkNames(slots, known());
      const names = slots.length === 0 ? [everySlot] : slots;
      await tools.state.update(({ adopt }) => ({ adopt: withAdopted(adopt, names) }));
      tools.log.log('info', 'adopt', { slots: names });
      manager.retryNames(slots.length === 0 ? known() : slots);
      return changed();
    },
    async repaired({ gpu }) {
      await watches.gpus.repaired(gpu);
      tools.log.log('info', 'repaired', { gpu });
      watches.checkSoon();
      return changed();
    },
    history: (since, limit) => tools.history.events(since, limit),
    series: (hours) => tools.history.series(hours),
    async testWebhook() {
      await daemon.messenger.test();
      return { taken: true };
    },
    async renewImage({ fresh }) {
      tools.log.log('info', 'a new agent image was requested', { fresh });
      await tools.state.note(withoutRejections);
      watches.renewImage(fresh);
      return daemon.status();
    },
  };
}

/** Returns the handlers that read runs and their logs. `known`: names of the host's slots. */
function runHandlers(
  tools: Pick<ManagerTools, 'runStore' | 'engine'>,
  known: () => readonly string[],
): Pick<ControlHandlers, 'runs' | 'logs' | 'diagnostics'> {
  return {
    async runs(slot, limit) {
      const slots = slot === undefined ? await tools.runStore.slots() : [slot];
      const lists = await Promise.all(slots.map((name) => tools.runStore.list(name, limit)));
      return lists.flat().sort(newestFirst);
    },
    async logs(slot, tail) {
      const [container] = await tools.engine.listOwn({ [Labels.kind]: 'agent', [Labels.slot]: slot });
      if (container !== undefined) return tools.engine.logs(container.id, tail);
      const [last] = await tools.runStore.list(slot, 1);
      return last === undefined ? '' : `${last.log.slice(-tail).join('\n')}\n`;
    },
    async diagnostics(slot, run) {
      if (!(await tools.runStore.slots()).includes(slot)) checkNames([slot], known());
      const kept = await tools.runStore.diagnostics(slot, run);
      if (kept === undefined) throw noDiagnostics(slot, run);
      return diagnosticsText(kept.run, kept.files);
    },
  };
}

/** Returns the handlers of drain and undrain. `changed`: returns the status after a change. */
function drainHandlers(
  tools: Pick<ManagerTools, 'state' | 'clock' | 'log' | 'command' | 'history'>,
  paths: WorkPaths,
  known: () => readonly string[],
  changed: () => ManagerStatus,
): Pick<ControlHandlers, 'drain' | 'undrain' | 'undrainOwn'> {
  /** Returns the work of a run that drained the host for a change, and may still be in progress. */
  const workOfRun = async (): Promise<CurrentWork | undefined> =>
    tools.state.value.drain.provision === undefined ? undefined : currentWork(paths, tools.command);
  const noteEnded = (before: readonly Drain[], who: string | undefined): void => {
    for (const event of undrainEvents(before, drainsOf(tools.state.value.drain), who))
      tools.history.note(event);
  };
  return {
    async drain(order) {
      await tools.state.update((state) => ({
        drain: withDrain(state.drain, order, known(), tools.clock.wall()),
      }));
      tools.log.log('info', 'drain', { ...order });
      tools.history.note(drainEvent(order));
      return changed();
    },
    async undrain(order) {
      const endsAll = order.run === undefined && order.slots.length === 0;
      const work = endsAll ? await workOfRun() : undefined;
      if (work !== undefined) throw changeInProgress(work);
      const before = drainsOf(tools.state.value.drain);
      await tools.state.update((state) => ({ drain: withoutDrain(state.drain, order, known()) }));
      tools.log.log('info', 'undrain', { ...order });
      noteEnded(before, undefined);
      return changed();
    },
    async undrainOwn(order) {
      const work = await workOfRun();
      const after = ({ drain }: State) => withoutOwnDrain(drain, order, known(), work === undefined);
      const isRuns = drainsOf(tools.state.value.drain).some(
        (drain) => drain.run !== undefined && isEndedBy(order, drain),
      );
      if (work !== undefined && isRuns && after(tools.state.value) === tools.state.value.drain)
        throw changeInProgress(work);
      const before = drainsOf(tools.state.value.drain);
      await tools.state.update((state) => ({ drain: after(state) }));
      tools.log.log('info', 'undrain', { ...order });
      noteEnded(before, order.owner);
      return changed();
    },
  };
}

function changeInProgress({ what, next }: CurrentWork): FleetError {
  return new FleetError({
    code: 'drain.at-work',
    what: `${what}; the agents stay drained until it ends`,
    next,
  });
}

function noDiagnostics(slot: string, run: string | undefined): FleetError {
  return new FleetError({
    code: 'runs.no-diagnostics',
    what:
      run === undefined
        ? `no agent logs are kept of slot ${slot}`
        : `no agent logs are kept of run ${run} of slot ${slot}`,
    expected: 'one of the last five failed runs of the slot',
    next: 'list the runs of the slot that have logs: azp-fleet logs HOST/SLOT --runs',
  });
}

/** Calls the control socket of a running manager; returns the answer as text. */
export function ask(
  socketPath: string,
  call: { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: unknown },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (problem: Omit<Problem, 'code'>): void =>
      reject(new FleetError({ code: 'control.failed', ...problem }));
    const broken = (seen: string): void =>
      fail({
        what: `the manager does not answer on ${socketPath}`,
        seen,
        next: 'check whether it runs: systemctl status azp-fleet-manager',
      });
    const outgoing = request(
      { socketPath, method: call.method, path: call.path, timeout: 30_000 },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else fail(readRefusal(text) ?? withoutReason(answer.statusCode, text));
        });
        // Once the answer has begun, the request itself reports no error.
        answer.on('error', () => broken('the connection was closed before the end of the answer'));
      },
    );
    outgoing.on('timeout', () => {
      broken('no answer within 30 s');
      outgoing.destroy();
    });
    outgoing.on('error', (error) => broken(error.message));
    outgoing.end(call.body === undefined ? undefined : JSON.stringify(call.body));
  });
}

function withoutReason(status: number | undefined, text: string): Omit<Problem, 'code'> {
  return {
    what: `the manager answered ${status ?? 'something'} without a reason`,
    seen: text.slice(0, 300),
    next: 'check its journal: journalctl -u azp-fleet-manager',
  };
}
