import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { mayBecome, plainPools } from '../../fleet/inventory/pool-pattern.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import { type OwnNames, type PoolLeftovers, prune, type Pruned } from '../../shared/azure/pools/prune.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { agentName, poolsOf } from '../../shared/contract/slots.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { say } from '../render/lines.ts';
import { leftoverLines, prunedLines } from '../render/pools.ts';
import { declined, type Result } from '../result.ts';

/** Returns all pools of the inventory, with existing pools that match a pattern. */
export async function poolsOfFleet(azure: AzureClient, { hosts }: Fleet): Promise<readonly string[]> {
  const plain = plainPools(hosts);
  const patterns = hosts.flatMap(poolsOf).filter((pool) => !plain.includes(pool));
  return [...new Set([...plain, ...(await fittingPools(azure, patterns))])];
}

/** What is removed on this machine together with agents. */
interface Local {
  /** Lines that show it; empty: nothing. */
  readonly shown: readonly string[];
  /** Its name in the question: `these lines`. */
  readonly name: string;
  /** Removes it after the agents, and returns lines on that. */
  readonly remove: (pruned: readonly Pruned[]) => readonly string[];
}

interface PruneOptions {
  /** Lines below the result. */
  readonly after?: readonly string[];
  readonly local?: Local;
}

/**
 * Shows the leftovers of the first check, asks, waits, checks again, and removes what both checks found. Honors
 * `--dry-run` and `--yes`.
 */
export async function prunePools(
  context: Context,
  { options }: CommandInput,
  azure: AzureClient,
  leftoversByPool: readonly PoolLeftovers[],
  { after = [], local }: PruneOptions = {},
): Promise<Result> {
  const found = leftoversByPool.filter((pool) => pool.found.length > 0);
  const show = (lines: readonly string[]) => say(context.stderr, lines.map((line) => `${line}\n`).join(''));
  const shown = local?.shown ?? [];
  show([...leftoverLines(found), ...shown]);
  const names = [
    ...(found.length === 0 ? [] : ['these agents from Azure DevOps']),
    ...(local === undefined || shown.length === 0 ? [] : [local.name]),
  ];
  const stop = names.length === 0 || options.flag('dryRun');
  if (!stop && !options.flag('yes') && !(await confirm(context, `Remove ${names.join(' and ')}?`))) {
    return declined;
  }
  const prunes = !stop && found.length > 0;
  if (prunes) show(['checking again in 3 minutes; removes only agents that are still unused']);
  const pruned = prunes ? await prune(azure, found, context) : [];
  const dropped = stop ? [] : (local?.remove(pruned) ?? []);
  const leftovers = found.flatMap(({ pool, found: each }) => each.map((agent) => ({ pool, ...agent })));
  const lines = [...(names.length === 0 ? ['nothing to remove'] : prunedLines(pruned)), ...dropped, ...after];
  return {
    exitCode: ExitCode.ok,
    json: { leftovers, pruned },
    text: () => lines.map((line) => `${line}\n`).join(''),
  };
}

/**
 * Returns the possible agent names of a host that no longer exists: from the given pattern, otherwise from its own in
 * the inventory, otherwise from every pattern of the inventory with `{host}`, and the default.
 */
export function namesOfGone(
  { hosts }: Fleet,
  host: string,
  pattern: string | undefined,
): readonly OwnNames[] {
  if (pattern !== undefined && !pattern.includes('{slot}')) {
    throw usageError({
      code: 'usage.option',
      what: '--agent-name is not a valid pattern',
      expected: 'the former agentName:, e.g. gpu-{host}-{slot}',
      seen: pattern,
    });
  }
  const own = hosts.find(({ name }) => name === host)?.agentName;
  const known = hosts.map(({ agentName: each }) => each).filter((each) => each.includes('{host}'));
  const given = pattern ?? own;
  const patterns = given === undefined ? ['{host}-{slot}', ...known] : [given];
  return [...new Set(patterns)].map((each) => ({
    host,
    template: agentName({ name: host, agentName: each }, '{slot}'),
    configured: new Set(),
  }));
}

/** Returns the existing pools that match these patterns. */
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
