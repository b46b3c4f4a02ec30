/** What came of one attempt: a status, or no answer at all. */
export interface Outcome {
  readonly status: number | undefined;
  /** What the server asks for. */
  readonly retryAfterMs: number | undefined;
}

/** Milliseconds that are waited at most because the server asks for it; asked for more, a person has to know. */
export const longestPauseMs = 2 * 60_000;

/** Shorter pauses are not worth a line, milliseconds. */
export const noticedMs = 3000;

/** Attempts of one request, the first included; fewer where nobody answers, so that a user learns of it in half a minute. */
const maxAttempts = 5;
const maxUnanswered = 3;

/**
 * Milliseconds to wait before the next attempt (1, 2, 4, 8 s and up to half as much again; or what the server asks, two
 * minutes at most); undefined: do not try again. 429 means that nothing was done, so any request may be repeated; after other failures
 * only what has the same effect when done twice, which a POST has not.
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

/** Milliseconds: seconds or a date as HTTP has them. Undefined when absent or unreadable. */
function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * Milliseconds that an answer asks for. A date there is the server's: what it says the time is counts, and only without
 * that what we think it is (`wall`, milliseconds since 1970).
 */
export function retryAfter(headers: Headers | undefined, wall: number): number | undefined {
  const here = Date.parse(headers?.get('date') ?? '');
  return parseRetryAfter(headers?.get('retry-after') ?? null, Number.isNaN(here) ? wall : here);
}

/** Bytes of one answer: what a pool of ten thousand agents is listed in, all told of each (bench/RESULTS.md). */
export const longestAnswer = 64 * 1024 * 1024;

/** An answer that is longer than was agreed to; nothing of it was kept. */
export class TooLong extends Error {
  /** Bytes. */
  readonly limit: number;

  constructor(limit: number) {
    super(`more than ${limit} bytes`);
    this.limit = limit;
  }
}

/** The whole body as text. Throws TooLong as soon as it has, or says that it will have, more bytes than `limit`. */
export async function textWithin(response: Response, limit: number): Promise<string> {
  const { body, headers } = response;
  if (body === null) return '';
  if (Number(headers.get('content-length') ?? 0) > limit) {
    // Whoever does not read on ends the connection; that this can fail, too, changes nothing.
    await body.cancel().catch(() => undefined);
    throw new TooLong(limit);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the rest.
  for await (const part of body as ReadableStream<Uint8Array>) {
    bytes += part.byteLength;
    if (bytes > limit) throw new TooLong(limit);
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
