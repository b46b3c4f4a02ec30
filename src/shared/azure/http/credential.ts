import { FleetError } from '../../base/errors.ts';
import { foreignLine } from '../../base/foreign-text.ts';
import type { Clock } from '../../base/clock.ts';
import { isObject } from '../../base/objects.ts';
import { readerBounds } from '../../base/reader-bounds.ts';
import { Secret } from '../../base/secret.ts';
import { clientAssertion, readCertificate, timeMistake } from './certificate.ts';
import { type Outcome, jsonWithin, longestPauseMs, noticedMs, retryAfter, retryDelay } from './limits.ts';
import type { Fetch } from './proxy.ts';

/** Authenticates requests to Azure DevOps. */
export interface Credential {
  readonly kind: 'pat' | 'entra';
  /** Returns the value of the Authorization header. */
  authorization(signal: AbortSignal): Promise<Secret>;
  /** Discards the last value after the server refused it. Returns false when there is no way to get another. */
  renew(): boolean;
  /** Called with the header of a request that the server accepted. */
  accepted(header: Secret): void;
}

/** Called with the secret of each request that the server accepted. */
type OnAccepted = (secret: Secret) => void;

/** An access token of Microsoft Entra ID, as `az account get-access-token` prints it. */
const entraToken = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;

/** Returns the credential of a personal access token, or of an access token that a command prints. A function is called again after a refusal, to pick up a replaced token. */
export function patCredential(token: Secret | (() => Promise<Secret>), onAccepted?: OnAccepted): Credential {
  const read = typeof token === 'function' ? token : () => Promise.resolve(token);
  const sources = new WeakMap<Secret, Secret>();
  let current: Promise<Secret> | undefined;
  return {
    kind: 'pat',
    authorization: async () => {
      current ??= read();
      try {
        const secret = await current;
        const text = secret.reveal().trim();
        const header = new Secret(
          entraToken.test(text) ? `Bearer ${text}` : `Basic ${Buffer.from(`:${text}`).toString('base64')}`,
        );
        sources.set(header, secret);
        return header;
      } catch (error) {
        current = undefined;
        throw error;
      }
    },
    renew: () => {
      current = undefined;
      return typeof token === 'function';
    },
    accepted: (header) => reportSource(sources, header, onAccepted),
  };
}

function reportSource(
  sources: WeakMap<Secret, Secret>,
  header: Secret,
  onAccepted: OnAccepted | undefined,
): void {
  const secret = sources.get(header);
  if (secret !== undefined) onAccepted?.(secret);
}

/** A token is renewed this long before it expires, so that no request starts with one that is about to expire. */
const renewBeforeMs = 5 * 60_000;

/** A new access token, and the secret that proved the caller's identity, if there is one. */
interface Issued {
  readonly token: EntraToken;
  readonly by?: Secret;
}

/** Returns a credential of short-lived tokens, cached until shortly before they expire. */
export function bearerCredential(
  issue: (signal: AbortSignal) => Promise<Issued>,
  { clock, onAccepted }: { readonly clock: Clock; readonly onAccepted?: OnAccepted },
): Credential {
  let current: Promise<{ readonly header: Secret; readonly until: number }> | undefined;
  const sources = new WeakMap<Secret, Secret>();
  const fresh = async (signal: AbortSignal) => {
    const { token, by } = await issue(signal);
    const header = new Secret(`Bearer ${token.value.reveal()}`);
    if (by !== undefined) sources.set(header, by);
    return { header, until: clock.monotonic() + token.expiresInMs - renewBeforeMs };
  };
  return {
    kind: 'entra',
    authorization: async (signal) => {
      try {
        current ??= fresh(signal);
        if ((await current).until <= clock.monotonic()) current = fresh(signal);
        return (await current).header;
      } catch (error) {
        current = undefined;
        throw error;
      }
    },
    renew: () => {
      current = undefined;
      return true;
    },
    accepted: (header) => reportSource(sources, header, onAccepted),
  };
}

/** Returns the credential of a service principal. */
export function servicePrincipalCredential(principal: ServicePrincipal): Credential {
  return bearerCredential(async (signal) => {
    const by = typeof principal.secret === 'function' ? await principal.secret() : principal.secret;
    return { token: await requestToken({ ...principal, secret: by }, signal), by };
  }, principal);
}

export interface ServicePrincipal {
  readonly clientId: string;
  readonly tenantId: string;
  /** How `secret` proves the identity; a client secret by default. */
  readonly proof?: Proof;
  /** The client secret, the PEM text of the certificate and its key, or the federated issuer's token. */
  readonly secret: Secret | (() => Promise<Secret>);
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** The token endpoint's base URL, without the tenant; Microsoft's public cloud by default. */
  readonly authority?: string;
  /** Called before a pause that a person would notice, in unscaled milliseconds. */
  readonly onPause?: (ms: number) => void;
  readonly onAccepted?: OnAccepted;
}

type Proof = 'secret' | 'certificate' | 'federation';

export interface EntraToken {
  readonly value: Secret;
  readonly expiresInMs: number;
}

/** The Azure DevOps resource of Microsoft Entra ID. */
export const resource = '499b84ac-1321-427f-aa17-267ca6975798';
const scope = `${resource}/.default`;
const timeoutMs = 60_000;
/** The longest time that a token is kept: longer than any of Microsoft's. */
const longestS = 86_400;

export interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly body: Body;
}

interface Body {
  readonly access_token?: string;
  readonly expires_in?: number;
  readonly error?: string;
  readonly error_description?: string;
}

/** Requests an access token from Microsoft Entra ID; retries after 429, 5xx and no answer. Throws FleetError. */
export async function requestToken(principal: ServicePrincipal, signal: AbortSignal): Promise<EntraToken> {
  const authority = principal.authority ?? 'https://login.microsoftonline.com';
  const { clock } = principal;
  for (let count = 1; ; count += 1) {
    const answer = await ask(principal, authority, signal);
    const token = answer instanceof Error ? undefined : tokenIn(answer);
    if (token !== undefined) return token;
    // A request for a token changes nothing: it may be repeated like a GET.
    const pause = retryDelay('GET', count, outcomeOf(answer), Math.random);
    if (pause === undefined) throw failure(answer, authority, principal.proof);
    if (pause >= noticedMs) principal.onPause?.(pause);
    await clock.wait(pause, signal);
    signal.throwIfAborted();
  }
}

/** Any 5xx of Microsoft Entra ID is temporary: 500 is retried like 503. */
function outcomeOf(answer: Answer | Error): Outcome {
  if (answer instanceof Error) return { status: undefined, retryAfterMs: undefined };
  return { status: answer.status >= 500 ? 503 : answer.status, retryAfterMs: answer.retryAfterMs };
}

function asBody(parsed: Readonly<Record<string, unknown>>): Body {
  const text = (name: string) => (typeof parsed[name] === 'string' ? { [name]: parsed[name] } : {});
  const { expires_in: expiresIn } = parsed;
  return {
    ...text('access_token'),
    ...text('error'),
    ...text('error_description'),
    ...(expiresIn === undefined ? {} : { expires_in: secondsOf(expiresIn) }),
  };
}

/** A machine's identity writes the number as text. NaN: neither. */
function secondsOf(value: unknown): number {
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : Number.NaN;
}

/** Parses the body; an empty object when it is not JSON. */
function bodyOf(text: string): Body {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? asBody(parsed) : {};
  } catch {
    return {};
  }
}

/** Returns the token of an answer; undefined: it has none that can be a header. */
export function tokenIn({ status, body }: Answer): EntraToken | undefined {
  const { access_token: value = '', expires_in: seconds = 3600 } = body;
  if (status !== 200 || !/^[\x21-\x7e]{1,65536}$/.test(value) || !(seconds > 0)) return undefined;
  return { value: new Secret(value), expiresInMs: Math.min(seconds, longestS) * 1000 };
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Returns the form's fields that prove the identity. Throws FleetError for a certificate that cannot. */
function proofOf(
  { clientId, proof = 'secret', clock }: ServicePrincipal,
  secret: Secret,
  audience: string,
): Readonly<Record<string, string>> {
  const text = secret.reveal().trim();
  if (proof === 'secret') return { client_secret: text };
  if (proof === 'federation') return { client_assertion_type: assertionType, client_assertion: text };
  const certificate = readCertificate(text);
  const now = clock.wall();
  const mistake = 'key' in certificate ? timeMistake(certificate, now) : certificate;
  if (mistake !== undefined || !('key' in certificate))
    throw new FleetError({
      code: 'azure.auth',
      what: 'the certificate of the service principal cannot be used',
      expected: 'an RSA key with its valid certificate, as PEM',
      ...mistake,
    });
  return {
    client_assertion_type: assertionType,
    client_assertion: clientAssertion(certificate, { clientId, audience, now }).reveal(),
  };
}

/** Returns the answer, or the error that prevented one. */
async function ask(
  principal: ServicePrincipal,
  authority: string,
  signal: AbortSignal,
): Promise<Answer | Error> {
  const { tenantId, clientId, secret, fetch, clock } = principal;
  const url = `${authority}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`;
  const proof = proofOf(principal, typeof secret === 'function' ? await secret() : secret, url);
  const send = () =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        scope,
        ...proof,
      }).toString(),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  return answerOf(send, clock, signal);
}

/** Returns the answer to a request for a token, or the error that prevented one. */
export async function answerOf(
  send: () => ReturnType<Fetch>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer | Error> {
  try {
    const response = await send();
    return {
      status: response.status,
      retryAfterMs: retryAfter(response.headers, clock.wall()),
      body: bodyOf(await jsonWithin(response, readerBounds.entraToken)),
    };
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  }
}

const afterRefusal: Readonly<Record<Proof, string>> = {
  secret: 'check clientId, tenantId, and that the client secret has not expired',
  certificate:
    'check clientId, tenantId, the clock, and that the application has this certificate (Certificates & secrets)',
  federation:
    "check clientId, tenantId, and that the application's federated credential has the issuer, subject and audience of the token file",
};

function failure(answer: Answer | Error, authority: string, proof: Proof = 'secret'): FleetError {
  if (answer instanceof Error) {
    return new FleetError(
      {
        code: 'azure.unreachable',
        what: `cannot reach ${authority} for a service principal token`,
        next: 'check the network, and "proxy:" in the inventory',
      },
      { cause: answer },
    );
  }
  const { status, retryAfterMs = 0 } = answer;
  const { error, error_description: description } = answer.body;
  const seen = firstLine(description) ?? (error === undefined ? `HTTP ${status}` : foreignLine(error));
  if (status === 400 || status === 401) {
    return new FleetError({
      code: 'azure.auth',
      what: 'Microsoft Entra ID rejected the service principal',
      seen,
      next: afterRefusal[proof],
    });
  }
  const requested = Math.ceil(retryAfterMs / 60_000);
  const isLong = retryAfterMs > longestPauseMs;
  if (status === 429 || isLong) {
    return new FleetError({
      code: 'azure.throttled',
      what:
        status === 429
          ? 'Microsoft Entra ID answers too many requests of this service principal'
          : `${authority} returned no token for the service principal (HTTP ${status})`,
      seen: isLong ? `the server requests a pause of ${requested} minutes` : seen,
      next: `wait ${Math.max(5, requested)} minutes and run it again`,
    });
  }
  return new FleetError({
    code: status >= 500 ? 'azure.server-error' : 'azure.unexpected',
    what: `${authority} returned no token for the service principal`,
    expected: 'an access token',
    seen,
    next:
      status >= 500
        ? 'wait some minutes and run it again; check https://status.azure.com'
        : 'check "authority" and the proxy: this is not how Microsoft Entra ID answers',
  });
}

function firstLine(text: unknown): string | undefined {
  return typeof text === 'string' ? foreignLine(text.split(/\r?\n/u)[0] ?? '') : undefined;
}
