import { request, type Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import type { DrainOrder } from '../../shared/contract/drain.ts';
import { readRefusal } from '../../shared/contract/refusal.ts';
import {
  ourRelease,
  releaseGap,
  releaseOf,
  type Release,
  type ReleaseGap,
} from '../../shared/contract/release.ts';
import { readRuns, readStatus, type RunRecord, type ManagerStatus } from '../../shared/contract/status.ts';

/** The manager's control socket, through an HTTP agent whose sockets end at it. */
export interface ManagerClient {
  status(): Promise<ManagerStatus>;
  /** Takes no more jobs; running ones go on. No slots: the whole host. */
  drain(order: Omit<DrainOrder, 'slots'>, slots?: readonly string[]): Promise<void>;
  undrain(slots?: readonly string[]): Promise<void>;
  /** Ends the drain of this run alone. */
  undrainRun(run: string): Promise<void>;
  /** Takes these slots' names over from another owner, once. */
  adopt(slots: readonly string[]): Promise<void>;
  /** A GPU (PCI address), or `all`, was reset or replaced. */
  repaired(gpu: string): Promise<void>;
  /** Has the agents' image built or pulled now; the answer tells under which `image.asked.at` to look for the end. */
  renewImage(fresh: boolean): Promise<ManagerStatus>;
  /** Sends a test message to the host's webhook; rejects with why it was not taken. */
  testWebhook(): Promise<void>;
  /** Newest first. */
  runs(query: { readonly slot?: string; readonly limit: number }): Promise<readonly RunRecord[]>;
  /** The running container's output, else that of the last run. */
  logs(slot: string, tail: number): Promise<string>;
  /** The agent's own logs of this failed run, or of the last one that has some. */
  diagnostics(slot: string, run: string | undefined): Promise<string>;
}

const timeoutMs = 15_000;
const pauseMs = 1000;
/** Bytes of an answer: a status has some hundred for each slot and GPU. */
const longestStatus = 4 * 1024 * 1024;
/** The same of logs and runs: ten thousand lines of output, each far longer than lines are. */
const longestOutput = 64 * 1024 * 1024;

interface ManagerClientOptions {
  /** A call that gets no answer is made so often in all. Default 4: a restart of the manager long. */
  readonly attempts?: number;
  /**
   * Only what `status`, `drain` and `undrain` have been in all releases is asked: `provision` drains a manager of any
   * release, because it is what brings that to ours.
   */
  readonly anyRelease?: boolean;
  /** Default: this program's. */
  readonly ours?: Release;
}

/** Every call may be made again. One to a manager more than one release away fails with what mends that. */
export function createManagerClient(
  agent: Agent,
  host: string,
  { attempts = 4, anyRelease = false, ours = ourRelease }: ManagerClientOptions = {},
): ManagerClient {
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    limit = longestStatus,
  ): Promise<string> => {
    const ask = () => exchange(agent, { method, path, body, limit });
    const { status, text } = await repeatedly(attempts, ask).catch((error: unknown) => {
      throw isTooLong(error) ? error.at({ host }) : unreachable(host, error);
    });
    if (status < 200 || status >= 300) throw refused(host, `${status} to ${method} ${path}`, text);
    return text;
  };
  const check = (text: string): Release | undefined => {
    const release = releaseOf(parsedJson(text));
    const gap = release && releaseGap(host, release, ours);
    if (gap !== undefined && !anyRelease) throw tooFar(host, gap);
    return release;
  };
  let met: Promise<Release | undefined> | undefined;
  /** Before anything is asked for the first time: an order that means something else there shall not be given. */
  const meet = () =>
    (met ??= send('GET', '/v1/status').then(check, (error: unknown) => {
      met = undefined;
      // Whoever refuses to say what it is gets the order all the same, and may refuse that, too.
      if (error instanceof FleetError && error.problem.code === 'manager.unreachable') throw error;
      if (isTooLong(error)) throw error;
      return undefined;
    }));
  const call: typeof send = async (...order) => {
    const release = anyRelease ? undefined : await meet();
    return send(...order).catch((error: unknown) => {
      throw release === undefined ? error : unknownThere(host, release, ours, error);
    });
  };
  /** A host's manager is as foreign as the host: its answer is cleaned, and is what it should be, or an error. */
  const read = <T>(text: string, as: (value: unknown) => T | undefined): T => {
    const answer = as(foreignValue(parsedJson(text), (said) => foreignLine(said)));
    if (answer === undefined) throw notUnderstood(host, text);
    return answer;
  };
  const chosen = (slots: readonly string[] | undefined) =>
    slots === undefined || slots.length === 0 ? {} : { slots };
  return {
    status: async () => {
      const text = await send('GET', '/v1/status');
      met = Promise.resolve(check(text));
      return read(text, readStatus);
    },
    drain: async (order, slots) => void (await call('POST', '/v1/drain', { ...order, ...chosen(slots) })),
    undrainRun: async (run) => void (await call('POST', '/v1/undrain', { run })),
    undrain: async (slots) => void (await call('POST', '/v1/undrain', chosen(slots))),
    repaired: async (gpu) => void (await call('POST', '/v1/repaired', { gpu })),
    testWebhook: async () => void (await call('POST', '/v1/webhook')),
    adopt: async (slots) => void (await call('POST', '/v1/adopt', { slots })),
    renewImage: async (fresh) => read(await call('POST', '/v1/image', { fresh }), readStatus),
    runs: async ({ slot, limit }) => {
      const query = new URLSearchParams({ limit: String(limit), ...(slot === undefined ? {} : { slot }) });
      return read(await call('GET', `/v1/runs?${query.toString()}`, undefined, longestOutput), readRuns);
    },
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
      await delay(pauseMs);
    }
  }
}

/** The manager says what is wrong in its own words where it can. */
function refused(host: string, answer: string, text: string): FleetError {
  const said = readRefusal(text) ?? {
    code: 'manager.refused',
    what: `the manager answered ${answer}`,
    seen: text.slice(0, 300),
  };
  const isTypo = said.code === 'slot.unknown';
  return new FleetError({
    next: isTypo ? 'use one of these slots' : 'check `journalctl -u azp-fleet-manager` on the host',
    ...said,
    host,
    step: 'manager',
  });
}

/** Undefined when it is not JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tooFar(host: string, { what, next }: ReleaseGap): FleetError {
  return new FleetError({ code: 'manager.release', host, step: 'manager', what, next });
}

/** Returns the error for a call that a manager of the release before does not have; any other error unchanged. */
function unknownThere(host: string, { version, protocol }: Release, ours: Release, error: unknown): unknown {
  const isUnknown = error instanceof FleetError && error.problem.code === 'control.not-found';
  if (!isUnknown || protocol >= ours.protocol) return error;
  return new FleetError({
    code: 'manager.release',
    host,
    step: 'manager',
    what: `the manager on ${host} is ${version}, which does not support this`,
    next: `run "azp-fleet provision ${host}"`,
  });
}

function notUnderstood(host: string, text: string): FleetError {
  return new FleetError({
    code: 'manager.answer',
    host,
    step: 'manager',
    what: 'the manager sent an invalid response',
    expected: 'a status or a list of runs of this version',
    seen: text.slice(0, 300),
    next: 'azp-fleet provision   # updates the manager to this version',
  });
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** Bytes that the answer may have. */
  readonly limit: number;
}

function exchange(agent: Agent, { method, path, body, limit }: Call) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const payload = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      host: 'manager',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
      // The manager closes idle connections after some seconds; a request on one that closes at that moment would fail.
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
    // Not the request's own time-out: streams over SSH have none.
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
    what: `the manager sent a response of more than ${limit / 1024 / 1024} MiB`,
    next: 'look at `journalctl -u azp-fleet-manager` on the host',
  });
}

/** Asked once more, it would say as much again. */
function isTooLong(error: unknown): error is FleetError {
  return error instanceof FleetError && error.problem.code === 'manager.answer';
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
