import { foreignLine } from '../../base/foreign-text.ts';
import { excessIn, type JsonBound } from '../../base/reader-bounds.ts';
import type { AnswerHeaders, FetchAnswer } from './proxy.ts';

/** The result of one attempt: a status, or undefined without an answer. */
export interface Outcome {
  readonly status: number | undefined;
  /** The pause that the server requests, milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** The longest pause, milliseconds, that a request waits when the server asks for one; a longer one is an error. */
export const longestPauseMs = 2 * 60_000;

/** The longest pause, milliseconds, where X-RateLimit-Reset shows that the identity is over its limit for so long. */
export const longestLimitedMs = 15 * 60_000;

/**
 * The pause, milliseconds, instead of one beyond every rate limit, which Azure DevOps never requests: no server is relieved by
 * it, and a proxy that answers so for some seconds must not stop a fleet for minutes.
 */
const nonsensePauseMs = 30_000;

/** Pauses shorter than this, milliseconds, are not reported. */
export const noticedMs = 3000;

/** Attempts of one request, including the first; fewer without an answer, so that the error appears within 30 s. */
const maxAttempts = 5;
const maxUnanswered = 3;

/**
 * Returns the milliseconds to wait before the next attempt: 1, 2, 4, 8 s plus up to 50 %, or the server's request of at
 * most two minutes. Undefined: do not retry. After a 429 the server has done nothing, so any request may be repeated; after
 * other failures only idempotent ones, which excludes POST.
 */
export function retryDelay(
  method: string,
  attempt: number,
  outcome: Outcome,
  random: () => number,
): number | undefined {
  if (attempt >= (outcome.status === undefined ? maxUnanswered : maxAttempts)) return undefined;
  const throttled = outcome.status === 429;
  const failed = outcome.status === undefined || [502, 503, 504].includes(outcome.status);
  if (!throttled && !(failed && method !== 'POST')) return undefined;
  if ((outcome.retryAfterMs ?? 0) > longestPauseMs) return undefined;
  return outcome.retryAfterMs ?? 1000 * 2 ** (attempt - 1) * (1 + random() / 2);
}

/** Parses Retry-After, seconds or an HTTP date, to milliseconds. Undefined when absent or malformed. */
function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * Returns the pause that an answer requests, milliseconds. A date is relative to the server's own Date header; without one,
 * to `wall` (milliseconds since 1970).
 */
export function retryAfter(headers: AnswerHeaders | undefined, wall: number): number | undefined {
  const here = Date.parse(headers?.get('date') ?? '');
  return parseRetryAfter(headers?.get('retry-after') ?? null, Number.isNaN(here) ? wall : here);
}

/** A pause that an answer requests. */
interface RequestedPause {
  /** Milliseconds, at most 2 minutes, or 15 where X-RateLimit-Reset (seconds since 1970) agrees. */
  readonly ms: number;
  /** The header, if it is no time or a longer one: one answer must not end all calls for a day. */
  readonly odd?: string;
}

/**
 * Returns the pause that an answer requests for all calls of this identity. `wall`: as for retryAfter. One
 * that is too long becomes 1 to 2 minutes, and above 15 minutes 15 to 30 s: of a constant length it could end in the server's
 * next trouble each time, for all managers at once.
 */
export function requestedPause(
  headers: AnswerHeaders,
  wall: number,
  random: () => number,
): RequestedPause | undefined {
  const header = headers.get('retry-after')?.trim() ?? '';
  if (header === '') return undefined;
  const asked = retryAfter(headers, wall);
  const here = Date.parse(headers.get('date') ?? '');
  const limitedMs = Number(headers.get('x-ratelimit-reset') ?? 0) * 1000 - (Number.isNaN(here) ? wall : here);
  const agreed = Number.isNaN(limitedMs) ? 0 : limitedMs;
  const most = Math.min(Math.max(longestPauseMs, agreed), longestLimitedMs);
  if (asked !== undefined && asked <= most && !header.startsWith('-')) return { ms: asked };
  const isLimited = most > longestPauseMs;
  const isNonsense = asked !== undefined && asked > longestLimitedMs;
  const limit = isLimited ? most : Math.round((isNonsense ? nonsensePauseMs : most) * (0.5 + random() / 2));
  return { ms: Math.min(asked ?? 0, limit), odd: foreignLine(header, 60) };
}

/** Thrown for an answer above a limit; the answer is discarded. The message says what it has: `more than 6 MiB`. */
export class TooLong extends Error {}

/**
 * Reads the whole body as the text of JSON. Throws TooLong as soon as the body, or its Content-Length, has too many bytes, and
 * before a text with too many values or levels is parsed.
 */
export async function jsonWithin(
  { body, headers }: FetchAnswer,
  { bytes: most, values }: JsonBound,
): Promise<string> {
  if (body === null) return '';
  if (Number(headers.get('content-length') ?? 0) > most) {
    // Cancelling closes the connection; a failure to do so changes nothing.
    await body.cancel().catch(() => undefined);
    throw tooLong(most);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the stream.
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > most) throw tooLong(most);
    parts.push(part);
  }
  const text = new TextDecoder().decode(Buffer.concat(parts));
  const excess = excessIn(text, values);
  if (excess !== undefined) throw new TooLong(excess);
  return text;
}

function tooLong(limit: number): TooLong {
  return new TooLong(`more than ${Math.floor(limit / 1024 ** 2)} MiB`);
}
