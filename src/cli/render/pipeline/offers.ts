import {
  agentName,
  poolOfSlot,
  slotNames,
  slotSpecs,
  type SlotSpec,
} from '../../../shared/contract/slots.ts';
import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import { mayBecome } from '../../../fleet/inventory/pool-pattern.ts';

/** One agent of a pool, as far as the inventory alone tells of it. */
export interface Offer {
  /** Its name in the pool. */
  readonly agent: string;
  readonly host: HostSpec;
  readonly slot: SlotSpec;
  /** How many GPUs it has; undefined where only the host knows. */
  readonly gpus?: number;
}

/** The agents of a pool; of a host that does not say how many GPUs it has, the first. Pure. */
export function offersOf(hosts: readonly HostSpec[], pool: string): readonly Offer[] {
  return hosts.flatMap((host) => {
    const names = slotNames(host);
    const specs = slotSpecs(host, names.length);
    const counted = host.agents.kind !== 'count' || host.gpus !== undefined;
    return names.flatMap((name, at): Offer[] => {
      const slot = specs[at];
      if (slot === undefined || !mayBecome(poolOfSlot(host, name), pool)) return [];
      const agent = agentName(host, name);
      return [{ agent, host, slot, ...(counted ? { gpus: slot.gpus.length } : {}) }];
    });
  });
}

/** Whether its jobs run in an image that somebody made, not in the one that every host builds. */
export function hasOwnImage({ host, slot }: Offer): boolean {
  return slot.image !== undefined || host.image !== undefined || host.dockerfile !== undefined;
}

/** Whether its jobs may bring a container of their own. */
export function takesContainers({ host, slot }: Offer): boolean {
  return slot.mode === 'host' && host.jobs.docker;
}

export function rendersGraphics({ slot }: Offer): boolean {
  return slot.capabilities.includes('graphics');
}
