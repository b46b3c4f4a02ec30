import { unscaled, type Clock } from '../../base/clock.ts';
import { FleetError } from '../../base/errors.ts';
import { foreignLines, foreignValue } from '../../base/foreign-text.ts';
import type { Logger } from '../../base/log.ts';
import { type JsonBound, readerBounds } from '../../base/reader-bounds.ts';
import type { Secret } from '../../base/secret.ts';
import {
  TooLong,
  jsonWithin,
  longestPauseMs,
  noticedMs,
  requestedPause,
  retryAfter,
  retryDelay,
} from './limits.ts';
import type { Credential } from './credential.ts';
import {
  failureOf,
  pauseTooLong,
  tooLong,
  unreachable,
  type Answer,
  type AzureError,
  type Operation,
} from './errors.ts';
import type { Fetch } from './proxy.ts';

export interface RestOptions {
  /** The URL that organizationUrl returns. */
  readonly organization: string;
  readonly credential: Credential;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly fetch?: Fetch;
  readonly clock: Clock;
  /** The time-out of one attempt in milliseconds; default `timeoutMs` below. */
  readonly timeoutMs?: number;
  /** The largest answer; default that of the CLI. An answer about named agents has less. */
  readonly largestAnswer?: JsonBound;
  /** Sent as User-Agent. */
  readonly userAgent?: string;
  /** Called before a pause that a person would notice, in unscaled milliseconds. */
  readonly onPause?: (ms: number) => void;
}

export interface Call extends Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the organization, encoded, with a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  /** The number of agents in the answer, where the call names them. */
  readonly agents?: number;
  /** Default: `apiVersion` below. */
  readonly apiVersion?: string;
}

export interface Rest {
  /** The invalid Retry-After of the latest answer with one; undefined once an answer has none. */
  readonly oddPause: string | undefined;
  /** Returns the parsed body of a success; undefined without one. Throws AzureError. */
  send(call: Call): Promise<unknown>;
  /** Waits unscaled milliseconds; rejects when the client's signal is aborted. */
  wait(ms: number): Promise<void>;
}

/** The newest released version of the REST API. */
export const apiVersion = '7.1';

/** The server may delay an answer by 30 s on purpose; this is well above. */
export const timeoutMs = 90_000;

/** The longest text in an answer, characters; capabilities can be long. */
const longestValue = 65_536;

/** A retry does not help. */
const passesNever: ReadonlySet<string> = new Set(['azure.certificate', 'azure.deactivated']);

/** Sends requests to Azure DevOps: authentication, throttling, retries, and errors with a next action. */
export function createRest(options: RestOptions): Rest {
  const { signal, clock } = options;
  const wait = async (ms: number) => {
    if (ms > 0) await clock.wait(ms, signal);
    signal.throwIfAborted();
  };
  // Any answer may request a pause: the server counts by identity, so all calls of this client then wait.
  let notBefore: { readonly at: number; readonly by?: Call } = { at: Number.NEGATIVE_INFINITY };
  let oddPause: string | undefined;
  let isOddLogged = false;

  const heed = ({ headers }: Answer, call: Call) => {
    const pause = requestedPause(headers, clock.wall(), Math.random);
    oddPause = pause?.odd;
    if (pause === undefined) return;
    options.log.log('info', 'azure asks for a pause', { path: call.path, ms: pause.ms });
    const at = clock.monotonic() + clock.scaled(pause.ms);
    if (at > notBefore.at) notBefore = { at, by: call };
    if (pause.odd === undefined || isOddLogged) return;
    isOddLogged = true;
    options.log.log('warn', 'an answer of azure has an invalid Retry-After', {
      path: call.path,
      seen: pause.odd,
    });
  };

  const pauseFor = async (ms: number) => {
    if (ms >= noticedMs) options.onPause?.(ms);
    await wait(ms);
  };

  const attempt = async (call: Call): Promise<{ readonly answer: Answer; readonly header: Secret }> => {
    // A call that is repeated has waited as its own answer said.
    const requested = notBefore.by === call ? 0 : unscaled(clock, notBefore.at - clock.monotonic());
    if (requested > longestPauseMs) throw pauseTooLong(requested, call);
    await pauseFor(requested);
    const header = await options.credential.authorization(signal);
    return { answer: await exchange(options, call, header), header };
  };

  /** Makes one attempt. Returns the value, or the error and the pause before the next attempt. */
  const once = async (call: Call, count: number) => {
    let answer: Answer | undefined;
    let failure: AzureError | undefined;
    try {
      const done = await attempt(call);
      answer = done.answer;
      heed(answer, call);
      failure = failureOf(answer, call, options.organization);
      if (failure === undefined) options.credential.accepted(done.header);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FleetError) throw error;
      if (error instanceof TooLong) throw tooLong(error.message, call, call.agents === 1);
      failure = unreachable(options.organization, call, error);
    }
    const retryAfterMs = retryAfter(answer?.headers, clock.wall());
    if (failure === undefined) return { json: answer?.json };
    if (failure.problem.code === 'azure.auth' && options.credential.renew() && count === 1)
      return { pause: 0 };
    if (passesNever.has(failure.problem.code)) throw failure;
    if (retryAfterMs !== undefined && retryAfterMs > longestPauseMs) throw pauseTooLong(retryAfterMs, call);
    const pause = retryDelay(call.method, count, { status: answer?.status, retryAfterMs }, Math.random);
    if (pause === undefined) throw failure;
    const { status } = failure;
    options.log.log('debug', 'azure retry', { path: call.path, attempt: count, status, ms: pause });
    return { pause };
  };

  return {
    get oddPause() {
      return oddPause;
    },
    wait,
    send: async (call) => {
      for (let count = 1; ; count += 1) {
        const result = await once(call, count);
        if (result.pause === undefined) return result.json;
        await pauseFor(result.pause);
      }
    },
  };
}

/** Sends one request and reads its whole answer. */
async function exchange(options: RestOptions, call: Call, header: Secret): Promise<Answer> {
  const { signal, clock, fetch: send = globalThis.fetch } = options;
  const started = clock.monotonic();
  const response = await send(urlOf(options.organization, call), {
    method: call.method,
    headers: {
      authorization: header.reveal(),
      accept: 'application/json',
      'user-agent': options.userAgent ?? 'azp-fleet',
      'x-tfs-fedauthredirect': 'Suppress',
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs ?? timeoutMs)]),
  });
  const answer = {
    status: response.status,
    headers: response.headers,
    ...read(await jsonWithin(response, boundOf(options, call))),
  };
  options.log.log('debug', 'azure request', {
    method: call.method,
    path: call.path,
    status: answer.status,
    ms: Math.round(clock.monotonic() - started),
    activity: answer.headers.get('activityid') ?? undefined,
  });
  return answer;
}

/** Returns how much of an answer is read: for agents that the call names, in proportion to their number. */
function boundOf({ largestAnswer = readerBounds.azureOfCli }: RestOptions, { agents }: Call): JsonBound {
  if (agents === undefined) return largestAnswer;
  const { bytes, values } = readerBounds.azureAgent;
  return {
    bytes: Math.min(largestAnswer.bytes, agents * bytes),
    values: Math.min(largestAnswer.values, agents * values),
  };
}

function urlOf(organization: string, call: Call): string {
  const query = new URLSearchParams({ 'api-version': call.apiVersion ?? apiVersion });
  for (const [name, value] of Object.entries(call.query ?? {})) query.set(name, String(value));
  return `${organization}${call.path}?${query.toString().replaceAll('%24', '$')}`;
}

/** Parses JSON. Some answers start with a byte order mark; names of pools and jobs are untrusted text. */
function read(text: string): Pick<Answer, 'json' | 'empty'> {
  const body = text.replace(/^\uFEFF/u, '');
  if (body.trim() === '') return { json: undefined, empty: true };
  try {
    const answer = foreignValue(JSON.parse(body, withoutNull), (value) => foreignLines(value, longestValue));
    return { json: answer, empty: false };
  } catch {
    return { json: undefined, empty: false };
  }
}

/** Removes members that are null: the service sends null where its published types say optional (recordings since November 2024). */
function withoutNull(this: unknown, _name: string, value: unknown): unknown {
  return value === null && !Array.isArray(this) ? undefined : value;
}
