import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { mayBecome } from '../../fleet/inventory/pool-pattern.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import { findLeftovers, type OwnNames, type PoolNames } from '../../shared/azure/pools/prune.ts';
import type { Context } from '../../shared/base/context.ts';
import { usageError } from '../../shared/base/errors.ts';
import { agentName, poolOfSlot, poolsOf, slotNames } from '../../shared/contract/slots.ts';
import type { CommandInput } from '../command.ts';
import type { Result } from '../result.ts';
import { openFleet } from '../run/fleet.ts';
import { namesOfGone, poolsOfFleet, prunePools } from '../run/pools.ts';

/** Removes agents that no slot stands for any more: looks, asks, waits, looks again, removes. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const { fleet, hosts, azure } = await openFleet(context, input);
  const gone = options.list('gone').flatMap((host) => goneHost(fleet, host, options.string('agentName')));
  const pools = await poolsToLookAt(azure, fleet, hosts, gone);
  return prunePools(context, input, azure, await findLeftovers(azure, pools));
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
  const pools = await poolsOfFleet(azure, fleet);
  return pools.map((pool) => {
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
    configured: counted ? new Set(slots.map((slot) => agentName(host, slot))) : undefined,
  };
}

/**
 * What a host that is gone may have been called in the pool: by the pattern that is given, else by every pattern that
 * the inventory still has and that tells hosts apart, and the default.
 */
function goneHost(fleet: Fleet, host: string, pattern: string | undefined): readonly OwnNames[] {
  if (fleet.hosts.some(({ name }) => name === host)) {
    throw usageError({
      code: 'usage.host-not-gone',
      what: `--gone ${host}: the inventory still has this host`,
      next: 'take it out of the inventory first, or leave --gone out',
    });
  }
  return namesOfGone(fleet, host, pattern);
}
