import { request, type Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { type DrainOrder, isEndedBy, type UndrainOwnOrder } from '../../shared/contract/drain.ts';
import {
  type HistoryAnswer,
  longestSeries,
  readHistory,
  readSeries,
  type SeriesAnswer,
} from '../../shared/contract/history.ts';
import { readRefusal } from '../../shared/contract/refusal.ts';
import {
  ourRelease,
  releaseGap,
  releaseOf,
  type Release,
  type ReleaseGap,
} from '../../shared/contract/release.ts';
import { readRuns, readStatus, type RunRecord, type ManagerStatus } from '../../shared/contract/status.ts';

/** A client of the manager's control socket. */
export interface ManagerClient {
  status(): Promise<ManagerStatus>;
  /** Drains slots: running jobs continue, no more jobs are accepted. No slots: the whole host. */
  drain(order: Omit<DrainOrder, 'slots'>, slots?: readonly string[]): Promise<void>;
  /** Ends the drains of one person, and of interrupted runs. */
  undrain(order: UndrainOwnOrder): Promise<void>;
  /** Ends only the drain of this run. */
  undrainRun(run: string): Promise<void>;
  /** Tries once to take over the agent names of these slots from another owner. */
  adopt(slots: readonly string[]): Promise<void>;
  /** Reports that a GPU (PCI address), or `all`, was reset or replaced. */
  repaired(gpu: string): Promise<void>;
  /** Builds or pulls the agents' image now; `image.asked.at` of the answer identifies the request. */
  renewImage(fresh: boolean): Promise<ManagerStatus>;
  /** Sends a test message to the host's webhook; rejects with the reason if it is not accepted. */
  testWebhook(): Promise<void>;
  /** Returns the records of runs, newest first. */
  runs(query: { readonly slot?: string; readonly limit: number }): Promise<readonly RunRecord[]>;
  /** Returns the newest events since a time (ISO 8601), oldest first, and the summary of a week. */
  history(since: string): Promise<HistoryAnswer>;
  /** Returns the GPU samples of the last hours in 96 points. */
  series(hours: number): Promise<SeriesAnswer>;
  /** Returns the output of the running container, else of the last run. */
  logs(slot: string, tail: number): Promise<string>;
  /** Returns the agent's logs of this failed run, or of the last run that has logs. */
  diagnostics(slot: string, run: string | undefined): Promise<string>;
}

const timeoutMs = 15_000;
const pauseMs = 1000;
/** Maximum bytes of an answer: a status has some hundred for each slot and GPU. */
const longestStatus = 4 * 1024 * 1024;
/** Maximum bytes of logs and runs: enough for ten thousand very long lines. */
const longestOutput = 64 * 1024 * 1024;

interface ManagerClientOptions {
  /** Attempts of a call without an answer. Default 4, which covers a restart of the manager. */
  readonly attempts?: number;
  /**
   * Accepts a manager of any release, for `status`, `drain` and `undrain`, which are the same in all releases:
   * `provision` drains the manager that it updates. Also for `series`, which changes nothing and has its own schema number.
   */
  readonly anyRelease?: boolean;
  /** Default: the release of this program. */
  readonly ours?: Release;
}

/**
 * Creates a client that repeats failed calls. Calls to a manager more than one release away fail. `agent`: for each attempt, if it
 * is a function, which may connect again after a lost connection.
 */
export function createManagerClient(
  agent: Agent | (() => Promise<Agent>),
  host: string,
  { attempts = 4, anyRelease = false, ours = ourRelease }: ManagerClientOptions = {},
): ManagerClient {
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    limit = longestStatus,
  ): Promise<string> => {
    const attempt = async () =>
      exchange(typeof agent === 'function' ? await agent() : agent, { method, path, body, limit });
    const { status, text } = await repeatedly(attempts, attempt).catch((error: unknown) => {
      throw isTooLong(error) || isOfConnection(error) ? error.at({ host }) : unreachable(host, error);
    });
    if (status < 200 || status >= 300) throw refused(host, `${status} to ${method} ${path}`, text);
    return text;
  };
  const check = (text: string): Release | undefined => {
    const release = releaseOf(parsedJson(text));
    const gap = release && releaseGap(host, release, ours);
    if (gap !== undefined && !anyRelease) throw unsupportedRelease(host, gap);
    return release;
  };
  let checked: Promise<Release | undefined> | undefined;
  /** Checks the release before the first call: another release could interpret a call differently. */
  const checkRelease = () =>
    (checked ??= send('GET', '/v1/status').then(check, (error: unknown) => {
      checked = undefined;
      // A manager that rejects the status request gets the call anyway, and may reject it too.
      if (error instanceof FleetError && error.problem.code === 'manager.unreachable') throw error;
      if (isTooLong(error) || isOfConnection(error)) throw error;
      return undefined;
    }));
  const call: typeof send = async (...order) => {
    const release = anyRelease ? undefined : await checkRelease();
    return send(...order).catch((error: unknown) => {
      throw release === undefined ? error : unsupportedCall(host, release, ours, error);
    });
  };
  /** Cleans and parses an answer; the manager is as untrusted as its host. */
  const read = <T>(text: string, as: (value: unknown) => T | undefined): T => {
    const answer = as(foreignValue(parsedJson(text), (said) => foreignLine(said)));
    if (answer === undefined) throw invalidAnswer(host, text);
    return answer;
  };
  const slotsOf = (slots: readonly string[] | undefined) =>
    slots === undefined || slots.length === 0 ? {} : { slots };
  return {
    status: async () => {
      const text = await send('GET', '/v1/status');
      checked = Promise.resolve(check(text));
      return read(text, readStatus);
    },
    drain: async (order, slots) => void (await call('POST', '/v1/drain', { ...order, ...slotsOf(slots) })),
    undrainRun: async (run) => void (await call('POST', '/v1/undrain', { run })),
    undrain: async ({ slots, ...by }) => {
      await checkRelease();
      try {
        await send('POST', '/v1/undrain-own', { ...by, ...slotsOf(slots) });
      } catch (error) {
        if (!isUnknownCall(error)) throw error;
        const status = read(await send('GET', '/v1/status'), readStatus);
        if (!status.drains.every((drain) => isEndedBy({ slots, ...by }, drain)))
          throw endsAll(host, status.version);
        await call('POST', '/v1/undrain', slotsOf(slots));
      }
    },
    repaired: async (gpu) => void (await call('POST', '/v1/repaired', { gpu })),
    testWebhook: async () => void (await call('POST', '/v1/webhook')),
    adopt: async (slots) => void (await call('POST', '/v1/adopt', { slots })),
    renewImage: async (fresh) => read(await call('POST', '/v1/image', { fresh }), readStatus),
    runs: async ({ slot, limit }) => {
      const query = new URLSearchParams({ limit: String(limit), ...(slot === undefined ? {} : { slot }) });
      return read(await call('GET', `/v1/runs?${query.toString()}`, undefined, longestOutput), readRuns);
    },
    history: async (since) =>
      read(await call('GET', `/v1/history?${new URLSearchParams({ since }).toString()}`), readHistory),
    series: async (hours) =>
      // The byte more is the line end.
      read(await call('GET', `/v1/series?hours=${hours}`, undefined, longestSeries + 1), readSeries),
    diagnostics: (slot, run) => {
      const query = new URLSearchParams({ slot, ...(run === undefined ? {} : { run }) });
      return call('GET', `/v1/diagnostics?${query.toString()}`, undefined, longestOutput);
    },
    logs: (slot, tail) => {
      const query = new URLSearchParams({ slot, tail: String(tail) });
      return call('GET', `/v1/logs?${query.toString()}`, undefined, longestOutput);
    },
  };
}

async function repeatedly<T>(attempts: number, work: () => Promise<T>): Promise<T> {
  for (let left = attempts - 1; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left <= 0 || isTooLong(error)) throw error;
      if (isOfConnection(error) && error.problem.code !== 'ssh.connection-lost') throw error;
      await delay(pauseMs);
    }
  }
}

/** Returns the error that the manager sent, or one with its response. */
function refused(host: string, answer: string, text: string): FleetError {
  const refusal = readRefusal(text) ?? {
    code: 'manager.refused',
    what: `the manager answered ${answer}`,
    seen: text.slice(0, 300),
  };
  const isTypo = refusal.code === 'slot.unknown';
  return new FleetError({
    next: isTypo ? 'use one of these slots' : 'check `journalctl -u azp-fleet-manager` on the host',
    ...refusal,
    host,
    step: 'manager',
  });
}

/** Returns undefined if the text is not JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unsupportedRelease(host: string, { what, next }: ReleaseGap): FleetError {
  return new FleetError({ code: 'manager.release', host, step: 'manager', what, next });
}

/** Returns an error that asks for an update if an older manager does not know a call; else the error itself. */
function unsupportedCall(
  host: string,
  { version, protocol }: Release,
  ours: Release,
  error: unknown,
): unknown {
  if (!isUnknownCall(error) || protocol >= ours.protocol) return error;
  return new FleetError({
    code: 'manager.release',
    host,
    step: 'manager',
    what: `the manager on ${host} is ${version}, which does not support this`,
    next: `run "azp-fleet provision ${host}"`,
  });
}

function isUnknownCall(error: unknown): boolean {
  return error instanceof FleetError && error.problem.code === 'control.not-found';
}

/** A manager of the release before ends all drains of a place, whoever asks. */
function endsAll(host: string, version: string): FleetError {
  return new FleetError({
    code: 'manager.release',
    host,
    step: 'manager',
    what: `the manager on ${host} is ${version}, which would also end other drains; no drain ended`,
    next: `run "azp-fleet provision ${host}", then run it again`,
  });
}

function invalidAnswer(host: string, text: string): FleetError {
  return new FleetError({
    code: 'manager.answer',
    host,
    step: 'manager',
    what: 'the manager sent an invalid response',
    expected: 'a status, a history or a list of runs of this version',
    seen: text.slice(0, 300),
    next: 'azp-fleet provision   # updates the manager to this version',
  });
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** Maximum bytes of the answer. */
  readonly limit: number;
}

function exchange(agent: Agent, { method, path, body, limit }: Call) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const payload = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      host: 'manager',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
      // The manager closes idle connections after some seconds; a request at that moment would fail.
      connection: 'close',
    };
    const call = request({ agent, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > limit) response.destroy(tooLong(limit));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    // The request's own timeout does not work: streams over SSH have none.
    const timer = setTimeout(
      () => call.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    call.on('close', () => clearTimeout(timer));
    call.on('error', reject);
    call.end(payload);
  });
}

function tooLong(limit: number): FleetError {
  return new FleetError({
    code: 'manager.answer',
    step: 'manager',
    what: `the manager sent a response of more than ${limit < 1024 ** 2 ? `${Math.floor(limit / 1024)} KiB` : `${limit / 1024 ** 2} MiB`}`,
    next: 'look at `journalctl -u azp-fleet-manager` on the host',
  });
}

/** Returns whether an answer was invalid or too long: repeating the call would not help. */
function isTooLong(error: unknown): error is FleetError {
  return error instanceof FleetError && error.problem.code === 'manager.answer';
}

/** Returns whether the connection to the host failed, which says nothing about its manager. */
function isOfConnection(error: unknown): error is FleetError {
  return error instanceof FleetError && error.problem.code.startsWith('ssh.');
}

function unreachable(host: string, cause: unknown): FleetError {
  return new FleetError(
    {
      code: 'manager.unreachable',
      host,
      step: 'manager',
      what: 'the manager does not answer on its socket',
      seen: cause instanceof Error ? cause.message : String(cause),
      next: 'run azp-fleet provision if the host has no manager yet; otherwise check `systemctl status azp-fleet-manager` on the host',
    },
    { cause },
  );
}
