import type { AzureClient } from '../../src/shared/azure/client.ts';
import { createAzureClient } from '../../src/shared/azure/create-client.ts';
import { patCredential } from '../../src/shared/azure/http/credential.ts';
import type { Clock } from '../../src/shared/base/clock.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { tokenReader } from '../../src/manager/start/configuration.ts';

/** Creates a client as the manager does, with the token in a file. */
export function tokenClient(
  organization: string,
  tokenFile: string,
  clock: Clock,
  signal: AbortSignal,
): AzureClient {
  return createAzureClient({
    organization,
    credential: patCredential(tokenReader([tokenFile], silentLogger)),
    log: silentLogger,
    signal,
    clock,
  });
}
