import { sha256 } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { imageOf, type ManagerConfig } from '../../shared/contract/config.ts';
import { agentName, slotSpecs, cpuShares, memoryShare } from '../../shared/contract/slots.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { slotUid } from '../../shared/image/layout.ts';
import { agentStart } from '../docker/agent-setup.ts';
import type { Slot } from '../model.ts';
import type { MachineSize } from '../machine/machine-facts.ts';

/** One GPU of this host; without a UUID if the driver does not list it. */
export interface HostGpu {
  /** `0000:83:00.0` */
  readonly busId: string;
  readonly uuid?: string;
}

/** Returns the configured slots, with their GPUs by UUID. `gpus`: in PCI bus order. Pure. */
export function resolveSlots(config: ManagerConfig, gpus: readonly HostGpu[]): readonly Slot[] {
  return slotSpecs(config, gpus.length).map((spec, index) => {
    const name = spec.name ?? String(index);
    const found = spec.gpus.map((gpu) => find(gpu, gpus));
    return {
      name,
      agent: agentName({ name: config.host, agentName: config.agentName }, name),
      gpus: found.flatMap(({ uuid }) => (uuid === undefined ? [] : [uuid])),
      missing: found.flatMap(({ uuid, label }) => (uuid === undefined ? [label] : [])),
      limits: { ...config.limits, ...spec.limits },
      uid: slotUid(index),
      capabilities: spec.capabilities,
      mode: spec.mode,
      pool: spec.pool ?? config.pool,
      image: imageOf(config, spec),
    };
  });
}

function find(named: string | number, gpus: readonly HostGpu[]): { uuid?: string; label: string } {
  if (typeof named === 'number') {
    const gpu = gpus[named];
    if (gpu === undefined) return { label: `GPU ${named}` };
    return gpu.uuid === undefined ? { label: gpu.busId } : { uuid: gpu.uuid, label: gpu.busId };
  }
  // A MIG device has its own UUID; the start of the container shows whether it exists.
  if (named.startsWith('MIG-')) return { uuid: named, label: named };
  const uuid = gpus.find((gpu) => gpu.uuid?.toLowerCase() === named.toLowerCase())?.uuid;
  return uuid === undefined ? { label: named } : { uuid, label: named };
}

/** Returns a short fingerprint of the settings of a slot's runs, except the image. */
export function settingsOf(slot: Slot, config: ManagerConfig): string {
  const { pool, image, uid, ...rest } = slot;
  // A change of how or where runs are started replaces the current runs.
  const start = slot.mode === 'host' ? HostPaths.agents : agentStart(image, uid);
  const parts = [rest, config.organization, pool, config.datasets, config.jobs, config.proxy, start];
  return sha256(JSON.stringify(parts)).slice(0, 12);
}

/** Throws for an unknown slot; the error lists the known ones. */
export function checkNames(slots: readonly string[], known: readonly string[]): void {
  const unknown = slots.find((slot) => !known.includes(slot));
  if (unknown === undefined) return;
  throw new FleetError({
    code: 'slot.unknown',
    what: `there is no slot ${unknown}`,
    expected: known.length === 0 ? 'no slot: the host has none' : `slots: ${known.join(', ')}`,
    next: 'correct the name of the slot',
  });
}

/** Adds each slot's share of the machine, unless its configuration sets limits. Pure. */
export function withShares(
  slots: readonly Slot[],
  { memoryMiB, cpus: machineCpus }: MachineSize,
): readonly Slot[] {
  const share = memoryShare(memoryMiB, slots.length);
  return slots.map((slot) => {
    const { cpus } = slot.limits;
    const memory = share === undefined ? {} : { memory: `${share}m` };
    const weight = cpus === undefined ? {} : { cpuShares: cpuShares(cpus, machineCpus, slots.length) };
    return { ...slot, limits: { ...memory, ...slot.limits }, ...weight };
  });
}
