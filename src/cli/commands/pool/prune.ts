import type { AzureClient } from '../../../azure/client.ts';
import type { OwnNames } from '../../../azure/pools/garbage.ts';
import { findLeftovers, prune, type PoolNames } from '../../../azure/pools/prune.ts';
import type { Context } from '../../../base/context.ts';
import { ExitCode, usageError } from '../../../base/errors.ts';
import { agentName, poolOfSlot, poolsOf, slotNames } from '../../../contract/slots.ts';
import type { Fleet, HostSpec } from '../../../inventory/fleet.ts';
import { mayBecome, plainPools } from '../../../inventory/pool-pattern.ts';
import { say } from '../../../render/lines/say.ts';
import { leftoverLines, prunedLines } from '../../../render/pools.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet } from '../../fleet/fleet.ts';
import { fittingPools } from './names.ts';
import { declined, type Result } from '../../result.ts';

/** Removes agents that no slot stands for any more: looks, asks, waits, looks again, removes. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const { fleet, hosts, azure } = await openFleet(context, input);
  const gone = options.list('gone').flatMap((host) => goneHost(fleet, host, options.string('agentName')));
  const looks = await findLeftovers(azure, await poolsToLookAt(azure, fleet, hosts, gone));
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
  const lines = found.length === 0 ? ['nothing to remove'] : prunedLines(pruned);
  return {
    exitCode: ExitCode.ok,
    json: { leftovers, pruned },
    text: () => lines.map((line) => `${line}\n`).join(''),
  };
}

/**
 * All pools of the inventory, with the names that the chosen hosts have in each. A slot may have left any of them; a
 * pattern may have become any pool that fits it.
 */
async function poolsToLookAt(
  azure: AzureClient,
  fleet: Fleet,
  hosts: readonly HostSpec[],
  gone: readonly OwnNames[],
): Promise<readonly PoolNames[]> {
  const plain = plainPools(fleet.hosts);
  const patterns = fleet.hosts.flatMap(poolsOf).filter((pool) => !plain.includes(pool));
  const pools = new Set([...plain, ...(await fittingPools(azure, patterns))]);
  return [...pools].map((pool) => {
    const names = hosts.map((host) => ownNames(host, pool));
    return {
      pool,
      hosts: [...names.filter(({ isIn }) => isIn), ...gone],
      visitors: names.filter(({ isIn }) => !isIn),
    };
  });
}

/** What the host has in this pool, and whether that is anything. */
function ownNames(host: HostSpec, pool: string): OwnNames & { readonly isIn: boolean } {
  const counted = host.agents.kind !== 'one-per-gpu' || host.gpus !== undefined;
  const isHere = (slot: string) => mayBecome(poolOfSlot(host, slot), pool);
  const slots = slotNames(host).filter(isHere);
  return {
    host: host.name,
    isIn: poolsOf(host).some((each) => mayBecome(each, pool)),
    template: agentName(host, '{slot}'),
    wanted: counted ? new Set(slots.map((slot) => agentName(host, slot))) : undefined,
  };
}

/**
 * What a host that is gone may have been called in the pool: by the pattern that is given, else by every pattern that
 * the inventory still has and that tells hosts apart, and the default.
 */
function goneHost({ hosts }: Fleet, host: string, pattern: string | undefined): readonly OwnNames[] {
  if (hosts.some(({ name }) => name === host)) {
    throw usageError({
      code: 'usage.host-not-gone',
      what: `--gone ${host}: the inventory still has this host`,
      next: 'take it out of the inventory first, or leave --gone out',
    });
  }
  if (pattern !== undefined && !pattern.includes('{slot}')) {
    throw usageError({
      code: 'usage.option',
      what: '--agent-name is no pattern of agent names',
      expected: 'what agentName: was, e.g. gpu-{host}-{slot}',
      seen: pattern,
    });
  }
  const known = hosts.map(({ agentName: each }) => each).filter((each) => each.includes('{host}'));
  const patterns = pattern === undefined ? ['{host}-{slot}', ...known] : [pattern];
  return [...new Set(patterns)].map((each) => ({
    host,
    template: agentName({ name: host, agentName: each }, '{slot}'),
    wanted: new Set(),
  }));
}
