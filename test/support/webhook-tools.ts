import { join } from 'node:path';
import { createFetch } from '../../src/shared/azure/http/proxy.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import type { ManagerTools } from '../../src/manager/manager-tools.ts';
import { addressReader } from '../../src/manager/webhook/messenger.ts';

/** Returns real HTTP to the address in the file `webhook` of this folder. */
export function webhookTools(folder: string): ManagerTools['webhook'] {
  const address = addressReader(join(folder, 'webhook'), silentLogger);
  return { fetch: createFetch({ noProxy: [] }), address };
}
