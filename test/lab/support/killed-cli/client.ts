// Replaces src/shared/azure/create-client.ts in the CLI that kills itself: each of its writes is an effect.
import type { AzureClient } from '../../../../src/shared/azure/client.ts';
import {
  createAzureClient as createReal,
  type AzureClientOptions,
} from '../../../../src/shared/azure/create-client.ts';
import { effect } from './effects.ts';

const writes: readonly string[] = ['ensurePool', 'createQueue', 'authorizeQueue', 'setPoolAutoUpdate'];

export function createAzureClient(options: AzureClientOptions): AzureClient {
  return new Proxy(createReal(options), {
    get(client, name: keyof AzureClient) {
      const call = client[name] as (...args: readonly unknown[]) => Promise<unknown>;
      if (!writes.includes(name)) return call;
      return async (...args: readonly unknown[]) => {
        const answer = await call(...args);
        effect(`Azure DevOps: ${name}`);
        return answer;
      };
    },
  });
}
