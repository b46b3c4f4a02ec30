import { FleetError } from '../../base/errors.ts';
import { foreignLine } from '../../base/foreign-text.ts';
import type { Clock } from '../../base/clock.ts';
import { readerBounds } from '../../base/reader-bounds.ts';
import { Secret } from '../../base/secret.ts';
import { answerOf, type Answer, bearerCredential, type Credential, resource, tokenIn } from './credential.ts';
import { type Outcome, retryDelay } from './limits.ts';
import type { Fetch } from './proxy.ts';

/** The identity that Azure gives to a machine. */
export interface ManagedIdentity {
  /** Of a user-assigned identity; undefined: the machine's own. */
  readonly clientId?: string;
  /** Azure Arc's agent serves it; undefined: the metadata service of an Azure VM. */
  readonly arc?: true;
  /** Reads at most this many bytes of a file that no user but root and its folder's owner and group can have written. */
  readonly readTrusted: (path: string, most: number) => Promise<Buffer>;
  /** Connects directly: no proxy reaches these addresses, and none may see the token. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Replaced by tests. */
  readonly places?: Places;
}

interface Places {
  readonly vm: string;
  readonly arc: string;
  /** Folder of the keys by which Arc's agent recognizes root. */
  readonly keys: string;
}

const defaultPlaces: Places = {
  vm: 'http://169.254.169.254',
  arc: 'http://127.0.0.1:40342',
  keys: '/var/opt/azcmagent/tokens',
};

const timeoutMs = 10_000;

/** Returns the credential of a machine's identity: no secret is stored anywhere. */
export function managedIdentityCredential(identity: ManagedIdentity): Credential {
  return bearerCredential(async (signal) => ({ token: await requested(identity, signal) }), identity);
}

async function requested(identity: ManagedIdentity, signal: AbortSignal) {
  const { clock } = identity;
  for (let count = 1; ; count += 1) {
    const answer = await (identity.arc === true ? askArc(identity, signal) : askVm(identity, signal));
    const token = answer instanceof Error ? undefined : tokenIn(answer);
    if (token !== undefined) return token;
    const pause = retryDelay('GET', count, outcomeOf(answer), Math.random);
    if (pause === undefined) throw failure(identity, answer);
    await clock.wait(pause, signal);
    signal.throwIfAborted();
  }
}

/** The metadata service answers 404 and 410 while it is updated, and any 5xx is temporary, too. */
function isTemporary(status: number): boolean {
  return status === 404 || status === 410 || status >= 500;
}

function outcomeOf(answer: Answer | Error): Outcome {
  if (answer instanceof Error) return { status: undefined, retryAfterMs: undefined };
  const { status, retryAfterMs } = answer;
  return { status: isTemporary(status) ? 503 : status, retryAfterMs };
}

function tokenUrl(base: string, version: string, clientId?: string): string {
  const query = new URLSearchParams({ 'api-version': version, resource });
  if (clientId !== undefined) query.set('client_id', clientId);
  return `${base}/metadata/identity/oauth2/token?${query.toString()}`;
}

async function askVm(
  { clientId, fetch, clock, places = defaultPlaces }: ManagedIdentity,
  signal: AbortSignal,
) {
  return answerOf(() => send(fetch, tokenUrl(places.vm, '2018-02-01', clientId), {}, signal), clock, signal);
}

function send(fetch: Fetch, url: string, headers: Record<string, string>, signal: AbortSignal) {
  return fetch(url, {
    method: 'GET',
    headers: { metadata: 'true', accept: 'application/json', ...headers },
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
}

/** Arc's agent names a file that only root and its group can read; its content proves who asks. */
async function askArc(identity: ManagedIdentity, signal: AbortSignal): Promise<Answer | Error> {
  const { fetch, clock, places = defaultPlaces } = identity;
  const url = tokenUrl(places.arc, '2020-06-01');
  let challenge = '';
  const first = await answerOf(
    async () => {
      const response = await send(fetch, url, {}, signal);
      challenge = response.headers.get('www-authenticate') ?? '';
      return response;
    },
    clock,
    signal,
  );
  if (first instanceof Error || first.status !== 401) return first;
  const key = await keyOf(identity, places.keys, challenge);
  return answerOf(() => send(fetch, url, { authorization: `Basic ${key.reveal()}` }, signal), clock, signal);
}

/**
 * Reads the key that a challenge names. Any program of the machine may listen on the port while Arc's agent does not, so that only
 * a short file of Arc's own folder is ever read and sent.
 */
async function keyOf({ readTrusted }: ManagedIdentity, folder: string, challenge: string): Promise<Secret> {
  const refuse = (what: string, seen: string, cause?: unknown): FleetError =>
    new FleetError(
      {
        code: 'azure.auth',
        what,
        expected: `Basic realm=${folder}/NAME.key`,
        seen: foreignLine(seen),
        next: checkArc,
      },
      { cause },
    );
  const [, path = ''] = /^Basic realm="?([^"\s]{1,512})"?$/i.exec(challenge.trim()) ?? [];
  const name = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : '';
  if (!/^[A-Za-z0-9_-][A-Za-z0-9._-]*\.key$/.test(name))
    throw refuse(
      "the challenge of Azure Arc's agent names no key of its folder",
      challenge || 'no challenge',
    );
  const { bytes } = readerBounds.arcKey;
  const content = await readTrusted(path, bytes + 1).catch((error: unknown) => {
    throw refuse(
      "the key of Azure Arc's agent cannot be read",
      error instanceof Error ? error.message : '',
      error,
    );
  });
  const text = content.toString('latin1').trim();
  if (content.length > bytes || !/^[\x21-\x7e]+$/.test(text))
    throw refuse("the key of Azure Arc's agent is empty, too long or no text", `${content.length} bytes`);
  return new Secret(text);
}

const checkArc =
  "check on the host that Azure Arc's agent is connected, and listens on port 40342: azcmagent show";

function failure({ arc, places = defaultPlaces }: ManagedIdentity, answer: Answer | Error): FleetError {
  const isArc = arc === true;
  const place = isArc ? `Azure Arc's agent (${places.arc})` : `the metadata service (${places.vm})`;
  const expected = 'an access token of the machine';
  if (answer instanceof Error)
    return new FleetError(
      {
        code: 'azure.unreachable',
        what: `${place} does not answer`,
        expected,
        next: isArc
          ? checkArc
          : 'use managedIdentity on Azure VMs only; with Azure Arc set `managedIdentity: { arc: true }`',
      },
      { cause: answer },
    );
  const { status, body } = answer;
  const said = body.error_description ?? body.error;
  return new FleetError({
    code:
      status === 429
        ? 'azure.throttled'
        : isTemporary(status)
          ? 'azure.server-error'
          : status < 400
            ? 'azure.unexpected'
            : 'azure.auth',
    what: `${place} returned no token`,
    expected,
    seen: `HTTP ${status}${said === undefined ? '' : `: ${foreignLine(said)}`}`,
    next:
      status === 429 || isTemporary(status)
        ? 'retried automatically'
        : isArc
          ? checkArc
          : 'check that the machine has this identity (Azure portal: the machine > Identity), and clientId',
  });
}
