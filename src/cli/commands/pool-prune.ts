import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { mayBecome } from '../../fleet/inventory/pool-pattern.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import { findLeftovers, type OwnNames, type PoolNames } from '../../shared/azure/pools/prune.ts';
import type { Context } from '../../shared/base/context.ts';
import { usageError } from '../../shared/base/errors.ts';
import { agentName, poolOfSlot, poolsOf, slotNames } from '../../shared/contract/slots.ts';
import type { CommandInput } from '../command.ts';
import { strangerLines } from '../render/pools.ts';
import { declined, type Result } from '../result.ts';
import { openFleet } from '../run/fleet.ts';
import { namesOfGone, poolsOfFleet, prunePools } from '../run/pools.ts';

/** Removes agents that belong to no slot: checks, asks, waits, checks again, removes. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const { fleet, hosts, azure } = await openFleet(context, input);
  const gone = options.list('gone').flatMap((host) => goneHost(fleet, host, options.string('agentName')));
  const pools = await poolsToCheck(azure, fleet, hosts, gone);
  const found = await findLeftovers(azure, pools);
  const unknownOwners = found.flatMap(({ pool, strangers }) => strangers.map((each) => ({ pool, ...each })));
  const result = await prunePools(context, input, azure, found, { after: strangerLines(unknownOwners) });
  return result === declined ? result : { ...result, json: { ...result.json, unknownOwners } };
}

/**
 * Returns all pools of the inventory with the agent names of the chosen hosts in each. A slot may have been in any of
 * them; a pattern may stand for any pool that matches it.
 */
async function poolsToCheck(
  azure: AzureClient,
  fleet: Fleet,
  hosts: readonly HostSpec[],
  gone: readonly OwnNames[],
): Promise<readonly PoolNames[]> {
  const pools = await poolsOfFleet(azure, fleet);
  const known = [
    ...fleet.hosts.map((host) => agentName(host, '{slot}')),
    ...gone.map(({ template }) => template),
  ];
  return pools.map((pool) => {
    const names = hosts.map((host) => ownNames(host, pool));
    return {
      pool,
      hosts: [...names.filter(({ isIn }) => isIn), ...gone],
      visitors: names.filter(({ isIn }) => !isIn),
      known,
    };
  });
}

/** Returns the host's agent names in this pool, and whether it has any. */
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
 * Returns the possible agent names of a host that no longer exists: from the given pattern, otherwise from every pattern
 * of the inventory with `{host}`, and the default.
 */
function goneHost(fleet: Fleet, host: string, pattern: string | undefined): readonly OwnNames[] {
  if (fleet.hosts.some(({ name }) => name === host)) {
    throw usageError({
      code: 'usage.host-not-gone',
      what: `--gone ${host}: the inventory still has this host`,
      next: 'remove it from the inventory first, or omit --gone',
    });
  }
  return namesOfGone(fleet, host, pattern);
}
