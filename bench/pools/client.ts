import type { AzureClient } from '../../src/shared/azure/client.ts';
import { createAzureClient, type AzureClientOptions } from '../../src/shared/azure/create-client.ts';
import { patCredential } from '../../src/shared/azure/http/credential.ts';
import { sha256 } from '../../src/shared/base/digest.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { systemClock } from '../../src/shared/base/clock.ts';
import { Secret } from '../../src/shared/base/secret.ts';

export const token = 'bench';
/** Agents of each host. */
export const slots = 8;

/** Owner of a host's agents; hosts are counted from 0. */
export function ownerOf(host: number): string {
  return sha256(`host ${host}`).slice(0, 32);
}

/** Names of a host's agents as `makeAgents` of the practice server counts them. */
export function namesOf(host: number): readonly string[] {
  return Array.from({ length: slots }, (_, slot) => `agent-${host * slots + slot + 1}`);
}

export function clientFor(organization: string, options: Partial<AzureClientOptions> = {}): AzureClient {
  return createAzureClient({
    organization,
    credential: patCredential(new Secret(token)),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: systemClock(1),
    ...options,
  });
}
