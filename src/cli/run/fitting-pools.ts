import type { AzureClient } from '../../shared/azure/client.ts';
import { mayBecome } from '../../fleet/inventory/pool-pattern.ts';

/** Names of pools that these patterns may have become. */
export async function fittingPools(
  azure: Pick<AzureClient, 'listPools'>,
  patterns: readonly string[],
): Promise<readonly string[]> {
  if (patterns.length === 0) return [];
  const all = await azure.listPools();
  return all
    .filter(({ isHosted, name }) => isHosted !== true && fits(patterns, name))
    .map(({ name }) => name);
}

function fits(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => mayBecome(pattern, name));
}
