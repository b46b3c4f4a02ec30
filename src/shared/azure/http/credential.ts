import { Secret } from '../../base/secret.ts';
import { requestToken, type ServicePrincipal } from './entra.ts';

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

/** A token is replaced this long before it ends, so that no request starts with one that is about to. */
const renewBeforeMs = 5 * 60_000;

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
