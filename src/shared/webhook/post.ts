import type { Fetch, FetchAnswer } from '../azure/http/proxy.ts';
import { retryAfter } from '../azure/http/limits.ts';
import { FleetError } from '../base/errors.ts';
import { foreignLine } from '../base/foreign-text.ts';
import { readerBounds } from '../base/reader-bounds.ts';
import type { Secret } from '../base/secret.ts';
import { version } from '../base/version.ts';

/** Milliseconds for the whole exchange, connection and answer included. */
const timeoutMs = 10_000;
const { bytes: readBytes } = readerBounds.webhookRefusal;

export type Answer =
  | { readonly kind: 'taken' }
  /** `afterMs`: the receiver asks for a pause. */
  | { readonly kind: 'later'; readonly problem: FleetError; readonly afterMs: number | undefined }
  /** A retry would fail, too. */
  | { readonly kind: 'refused'; readonly problem: FleetError };

/** Sends one message, in at most ten seconds. Never rejects. `wall`: now, for Retry-After. */
export async function post(
  fetch: Fetch,
  address: Secret,
  body: string,
  {
    program = 'azp-fleet-manager',
    wall,
    signal,
  }: { readonly program?: string; readonly wall: number; readonly signal: AbortSignal },
): Promise<Answer> {
  const url = address.reveal();
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': `${program}/${version}` },
      body,
      // A redirect would send the message and the secret in its address to another server.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await refusalText(response);
    return judge(response.status, text, retryAfter(response.headers, wall));
  } catch (error) {
    const seen =
      error instanceof Error && error.name === 'TimeoutError' ? 'no answer within 10 s' : errorText(error);
    return { kind: 'later', problem: unreachable(hostOf(url), seen), afterMs: undefined };
  }
}

/** Returns what an HTTP answer means for a message. `text`: of a refusal. Pure. */
export function judge(status: number, text: string, afterMs: number | undefined): Answer {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  const seen = `HTTP ${status}${text === '' ? '' : `: ${text}`}`;
  const isLater = status === 408 || status === 425 || status === 429 || status >= 500;
  return isLater
    ? { kind: 'later', problem: busy(seen), afterMs }
    : { kind: 'refused', problem: refused(seen) };
}

/** Reads the start of a refusal; empty if the message was accepted. The status counts even if the body never ends. */
async function refusalText(response: FetchAnswer): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  if (response.ok) {
    void reader.cancel().catch(() => undefined);
    return '';
  }
  let text = '';
  try {
    while (text.length < readBytes) {
      const { done, value } = await reader.read();
      if (done) break;
      text += Buffer.from(value).toString('latin1');
    }
  } catch {
    // The status is known.
  }
  void reader.cancel().catch(() => undefined);
  return foreignLine(text.slice(0, readBytes).trim(), 200);
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the host of an address; the rest is secret. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'its host';
}

function unreachable(host: string, seen: string): FleetError {
  return new FleetError({
    code: 'webhook.unreachable',
    what: `the webhook at ${host} does not answer`,
    seen,
    next: 'check network, name resolution, proxy and certificates on the host, then run `azp-fleet webhook`',
  });
}

function busy(seen: string): FleetError {
  return new FleetError({
    code: 'webhook.unreachable',
    what: 'the webhook temporarily accepts no messages',
    seen,
    next: 'retried automatically; if this stays, check the service behind the webhook',
  });
}

function refused(seen: string): FleetError {
  return new FleetError({
    code: 'webhook.refused',
    what: 'the webhook refuses the message',
    seen,
    next: 'correct webhook.url in the inventory, run `azp-fleet provision`, then `azp-fleet webhook`',
  });
}
