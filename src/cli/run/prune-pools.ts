import type { AzureClient } from '../../shared/azure/client.ts';
import { prune, type PoolLeftovers } from '../../shared/azure/pools/prune.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { plainPools } from '../../fleet/inventory/pool-pattern.ts';
import { say } from '../render/lines/say.ts';
import { leftoverLines, prunedLines } from '../render/pools.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { declined, type Result } from '../result.ts';
import { fittingPools } from './fitting-pools.ts';

/** All pools of the inventory. A pattern may have become any pool that fits it. */
export async function poolsOfFleet(azure: AzureClient, { hosts }: Fleet): Promise<readonly string[]> {
  const plain = plainPools(hosts);
  const patterns = hosts.flatMap(poolsOf).filter((pool) => !plain.includes(pool));
  return [...new Set([...plain, ...(await fittingPools(azure, patterns))])];
}

/**
 * Shows what a first look has found, asks, waits, looks again, and removes what both have found. `--dry-run` and `--yes` are
 * honoured. `after`: lines for a person, below the result.
 */
export async function prunePools(
  context: Context,
  { options }: CommandInput,
  azure: AzureClient,
  looks: readonly PoolLeftovers[],
  after: readonly string[] = [],
): Promise<Result> {
  const found = looks.filter((look) => look.found.length > 0);
  const show = (lines: readonly string[]) => say(context.stderr, lines.map((line) => `${line}\n`).join(''));
  show(leftoverLines(found));
  const stop = found.length === 0 || options.flag('dryRun');
  if (!stop && !options.flag('yes') && !(await confirm(context, 'Remove these agents from Azure DevOps?'))) {
    return declined;
  }
  if (!stop) show(['looking again in 3 minutes: only what is still unused then is removed']);
  const pruned = stop ? [] : await prune(azure, found, context);
  const leftovers = found.flatMap(({ pool, found: each }) => each.map((agent) => ({ pool, ...agent })));
  const lines = [...(found.length === 0 ? ['nothing to remove'] : prunedLines(pruned)), ...after];
  return {
    exitCode: ExitCode.ok,
    json: { leftovers, pruned },
    text: () => lines.map((line) => `${line}\n`).join(''),
  };
}
