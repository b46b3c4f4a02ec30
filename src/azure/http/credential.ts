import type { Clock } from '../../base/machine/clock.ts';
import { FleetError } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import type { Fetch } from './proxy.ts';

/** Proves to Azure DevOps who asks. */
export interface Credential {
  readonly kind: 'pat' | 'service-principal';
  /** The value of the Authorization header. */
  authorization(signal: AbortSignal): Promise<Secret>;
  /** The server refused the last value: a new one is got next time. False when there can be no other. */
  renew(): boolean;
}

/** A personal access token. With a function it is read again after a refusal, so that a replaced token is taken up. */
export function patCredential(token: Secret | (() => Promise<Secret>)): Credential {
  const read = typeof token === 'function' ? token : () => Promise.resolve(token);
  let current: Promise<Secret> | undefined;
  return {
    kind: 'pat',
    authorization: async () => {
      current ??= read();
      try {
        return new Secret(`Basic ${Buffer.from(`:${(await current).reveal().trim()}`).toString('base64')}`);
      } catch (error) {
        current = undefined;
        throw error;
      }
    },
    renew: () => {
      current = undefined;
      return typeof token === 'function';
    },
  };
}

/** The Azure DevOps resource of Microsoft Entra ID. */
const scope = '499b84ac-1321-427f-aa17-267ca6975798/.default';
/** A token is replaced this long before it ends, so that no request starts with one that is about to. */
const renewBeforeMs = 5 * 60_000;

export interface ServicePrincipal {
  readonly clientId: string;
  readonly tenantId: string;
  readonly secret: Secret | (() => Promise<Secret>);
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** Where tokens are asked for, without the tenant; Microsoft's public cloud unless given. */
  readonly authority?: string;
}

/** A service principal with a client secret: short-lived tokens, kept until shortly before they expire. */
export function servicePrincipalCredential(principal: ServicePrincipal): Credential {
  let current: Promise<{ readonly header: Secret; readonly until: number }> | undefined;
  const fresh = async (signal: AbortSignal) => {
    const token = await requestToken(principal, signal);
    return {
      header: new Secret(`Bearer ${token.value.reveal()}`),
      until: principal.clock.monotonic() + token.expiresInMs - renewBeforeMs,
    };
  };
  return {
    kind: 'service-principal',
    authorization: async (signal) => {
      try {
        current ??= fresh(signal);
        if ((await current).until <= principal.clock.monotonic()) current = fresh(signal);
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
  };
}

async function requestToken(principal: ServicePrincipal, signal: AbortSignal) {
  const secret = typeof principal.secret === 'function' ? await principal.secret() : principal.secret;
  const authority = principal.authority ?? 'https://login.microsoftonline.com';
  const response = await principal
    .fetch(`${authority}/${encodeURIComponent(principal.tenantId)}/oauth2/v2.0/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: principal.clientId,
        client_secret: secret.reveal().trim(),
        scope,
      }).toString(),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]),
    })
    .catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new FleetError(
        {
          code: 'azure.unreachable',
          what: `cannot reach ${authority} for a service principal token`,
          next: 'check the network, and "proxy:" in the inventory',
        },
        { cause },
      );
    });
  const answer = (await response.json().catch(() => ({}))) as {
    access_token?: string;
    expires_in?: number;
    error?: string;
    error_description?: string;
  };
  if (response.status === 200 && answer.access_token !== undefined) {
    return { value: new Secret(answer.access_token), expiresInMs: (answer.expires_in ?? 3600) * 1000 };
  }
  throw new FleetError({
    code: 'azure.auth',
    what: 'Microsoft Entra ID did not accept the service principal',
    seen: firstLine(answer.error_description) ?? answer.error ?? `HTTP ${response.status}`,
    next: 'check clientId, tenantId, and that the client secret has not expired',
  });
}

function firstLine(text: string | undefined): string | undefined {
  return text?.split(/\r?\n/u)[0];
}
