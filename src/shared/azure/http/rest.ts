import { unscaled, type Clock } from '../../base/machine/clock.ts';
import { FleetError } from '../../base/errors.ts';
import { foreignLines, foreignValue } from '../../base/foreign-text.ts';
import type { Logger } from '../../base/log.ts';
import {
  TooLong,
  longestAnswer,
  longestPauseMs,
  noticedMs,
  retryAfter,
  retryDelay,
  textWithin,
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
  /** As organizationUrl gives it. */
  readonly organization: string;
  readonly credential: Credential;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly fetch?: Fetch;
  readonly clock: Clock;
  /** Milliseconds that one attempt may take; `timeoutMs` of this file unless given. */
  readonly timeoutMs?: number;
  /** Bytes of one answer at most; `longestAnswer` of body.ts unless given. */
  readonly longestAnswer?: number;
  /** Sent as User-Agent. */
  readonly userAgent?: string;
  /** Told when the server asks for a pause that a person would notice, in unscaled milliseconds. */
  readonly onPause?: (ms: number) => void;
}

export interface Call extends Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the organisation, encoded, with a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  /** `apiVersion` of this file unless given. */
  readonly apiVersion?: string;
}

export interface Rest {
  /** The parsed body of a success, undefined when it has none. Throws AzureError. */
  send(call: Call): Promise<unknown>;
  /** Waits unscaled milliseconds; rejects when the client's signal is aborted. */
  wait(ms: number): Promise<void>;
}

/** The version of the interface that is asked for: the newest that is released. */
export const apiVersion = '7.1';

/** The server may hold an answer back for 30 s on purpose; this is well above. */
export const timeoutMs = 90_000;

/** Characters of one text in an answer; capabilities can be long. */
const longestValue = 65_536;

/** Asking again does not help. */
const passesNever: ReadonlySet<string> = new Set(['azure.certificate', 'azure.deactivated']);

/** HTTP as Azure DevOps speaks it: authentication, throttling, retries, and errors with a cure. */
export function createRest(options: RestOptions): Rest {
  const { signal, clock, fetch: send = globalThis.fetch } = options;
  const wait = async (ms: number) => {
    if (ms > 0) await clock.wait(ms, signal);
    signal.throwIfAborted();
  };
  // A success may ask for a pause too; all calls of this client then keep it.
  let notBefore = Number.NEGATIVE_INFINITY;

  const pauseFor = async (ms: number) => {
    if (ms >= noticedMs) options.onPause?.(ms);
    await wait(ms);
  };

  const attempt = async (call: Call): Promise<Answer> => {
    const asked = unscaled(clock, notBefore - clock.monotonic());
    if (asked > longestPauseMs) throw pauseTooLong(asked, call);
    await pauseFor(asked);
    const started = clock.monotonic();
    const response = await send(urlOf(options.organization, call), {
      method: call.method,
      headers: {
        authorization: (await options.credential.authorization(signal)).reveal(),
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
      ...read(await textWithin(response, options.longestAnswer ?? longestAnswer)),
    };
    options.log.log('debug', 'azure request', {
      method: call.method,
      path: call.path,
      status: answer.status,
      ms: Math.round(clock.monotonic() - started),
      activity: answer.headers.get('activityid') ?? undefined,
    });
    return answer;
  };

  /** One attempt as a result: what to return, or what went wrong and when to try again. */
  const once = async (call: Call, count: number) => {
    let answer: Answer | undefined;
    let failure: AzureError | undefined;
    try {
      answer = await attempt(call);
      failure = failureOf(answer, call, options.organization);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FleetError) throw error;
      if (error instanceof TooLong) throw tooLong(error.limit, call);
      failure = unreachable(options.organization, call, error);
    }
    const retryAfterMs = retryAfter(answer?.headers, clock.wall());
    if (failure === undefined) {
      if (retryAfterMs !== undefined) {
        options.log.log('info', 'azure asks for a pause', { path: call.path, ms: retryAfterMs });
        notBefore = clock.monotonic() + clock.scaled(retryAfterMs);
      }
      return { json: answer?.json };
    }
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

function urlOf(organization: string, call: Call): string {
  const query = new URLSearchParams({ 'api-version': call.apiVersion ?? apiVersion });
  for (const [name, value] of Object.entries(call.query ?? {})) query.set(name, String(value));
  return `${organization}${call.path}?${query.toString().replaceAll('%24', '$')}`;
}

/** Some answers start with a byte order mark; anybody can name a pool or a job. */
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

/** The service says null where its published types say that a member may be absent (recordings of November 2024 on). */
function withoutNull(this: unknown, _name: string, value: unknown): unknown {
  return value === null && !Array.isArray(this) ? undefined : value;
}
