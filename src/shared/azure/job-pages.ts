import type { Logger } from '../base/log.ts';
import type { AzureClient } from './client.ts';

/** Agent's name → page of the job that it runs. Empty when the server cannot be asked: the answer only helps people. */
export async function jobPages(
  client: AzureClient,
  poolName: string,
  log: Logger,
): Promise<ReadonlyMap<string, string>> {
  try {
    const pool = await client.findPool(poolName);
    const requests = pool === undefined ? [] : await client.unfinishedRequests(pool.id);
    return new Map(
      requests.flatMap(({ reservedAgent, owner }) => {
        const page = owner?._links?.web?.href;
        return reservedAgent === undefined || page === undefined ? [] : [[reservedAgent.name, page]];
      }),
    );
  } catch (error) {
    log.log('warn', 'job pages', { error: String(error) });
    return new Map();
  }
}
