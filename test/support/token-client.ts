import type { AzureClient } from '../../src/shared/azure/client.ts';
import { createAzureClient } from '../../src/shared/azure/create-client.ts';
import { patCredential } from '../../src/shared/azure/http/credential.ts';
import type { Clock } from '../../src/shared/base/clock.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { tokenReader } from '../../src/manager/start/configuration.ts';
import { TokenUse } from '../../src/manager/start/token-use.ts';

/** The token in a file, of the machine `machine-1`. */
export function tokenUse(tokenFile: string, clock: Clock): TokenUse {
  const read = tokenReader([tokenFile], silentLogger);
  return new TokenUse({ read, installed: read, machineId: 'machine-1', clock });
}

/** Creates a client as the manager does, with the token in a file. */
export function tokenClient(
  organization: string,
  tokenFile: string,
  clock: Clock,
  signal: AbortSignal,
  token = tokenUse(tokenFile, clock),
): AzureClient {
  return createAzureClient({
    organization,
    credential: token.follow(patCredential(token.read, token.accepted)),
    log: silentLogger,
    signal,
    clock,
  });
}
