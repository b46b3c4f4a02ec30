import type { AzureAgent } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import type { Slot } from '../model.ts';

type CapabilityMap = Readonly<Record<string, string>>;

/** Names that only azp-fleet uses. */
const ours = /^(?:azp-fleet|gpu|cuda|driver|dataset)\./;

/** Returns the capabilities of a slot's agent, which pipelines may demand, and its owner. */
export function userCapabilities(
  config: ManagerConfig,
  slot: Slot,
  report: SmiReport | undefined,
  owner: string,
): CapabilityMap {
  const added = Object.keys(config.capabilities).filter((name) => !ours.test(name));
  return {
    ...config.capabilities,
    ...gpuCapabilities(slot, report),
    ...Object.fromEntries(config.datasets.map((dataset) => [`dataset.${dataset.name}`, dataset.container])),
    ...(added.length === 0 ? {} : { [Capabilities.added]: added.join(',') }),
    [Capabilities.owner]: owner,
    [Capabilities.host]: config.host,
  };
}

/**
 * Returns the capabilities to write for an agent that has `known` in the pool. Keeps those that a person added, and the
 * reason of a drain; removes ours that are no longer desired. Pure.
 */
export function mergeCapabilities(known: CapabilityMap | undefined, desired: CapabilityMap): CapabilityMap {
  const before = new Set((known?.[Capabilities.added] ?? '').split(','));
  const kept = Object.entries(known ?? {}).filter(
    ([name]) => name === Capabilities.drainReason || (!ours.test(name) && !before.has(name)),
  );
  return { ...Object.fromEntries(kept), ...desired };
}

type Entry = Pick<AzureAgent, 'enabled' | 'userCapabilities'>;

/**
 * Returns the same for a running agent. An enabled agent gets no reason of a drain: a manager that was killed while it
 * enabled the agent left the reason, and a later drain by a person would look like the manager's. Pure.
 */
export function published({ enabled, userCapabilities }: Entry, desired: CapabilityMap): CapabilityMap {
  const { [Capabilities.drainReason]: reason, ...all } = mergeCapabilities(userCapabilities, desired);
  return enabled || reason === undefined ? all : { ...all, [Capabilities.drainReason]: reason };
}

/** Returns whether an agent of ours has other capabilities in the pool than desired. Pure. */
export function isOutdated(agent: Entry | undefined, desired: CapabilityMap): boolean {
  const known = agent?.userCapabilities;
  if (agent === undefined || known?.[Capabilities.owner] !== desired[Capabilities.owner]) return false;
  return text(known ?? {}) !== text(published(agent, desired));
}

function text(capabilities: CapabilityMap): string {
  return JSON.stringify(Object.entries(capabilities).sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Device {
  readonly uuid: string;
  readonly model: string;
  readonly memoryTotalMiB?: number;
  readonly computeCapability?: string;
  readonly profile?: string;
}

/** Returns the GPUs, and the MIG devices with a known UUID. */
function devices(report: SmiReport): readonly Device[] {
  return report.gpus.flatMap((gpu) => {
    const { uuid, name: model, memoryTotalMiB, computeCapability } = gpu;
    const shared = { model, ...defined({ computeCapability }) };
    const parts = gpu.migDevices.flatMap(({ uuid: part, profile, memoryTotalMiB: memory }) =>
      part === undefined ? [] : [{ ...shared, uuid: part, ...defined({ profile, memoryTotalMiB: memory }) }],
    );
    return [{ ...shared, uuid, ...defined({ memoryTotalMiB }) }, ...parts];
  });
}

function gpuCapabilities(slot: Slot, report: SmiReport | undefined): CapabilityMap {
  const count = { 'gpu.count': String(slot.gpus.length) };
  if (report === undefined) return count;
  const uuids = new Set(slot.gpus.map((uuid) => uuid.toLowerCase()));
  const own = devices(report).filter(({ uuid }) => uuids.has(uuid.toLowerCase()));
  const [first] = own;
  if (first === undefined) return count;
  const memory = Math.min(...own.flatMap(({ memoryTotalMiB }) => memoryTotalMiB ?? []));
  return {
    ...count,
    'gpu.model': first.model,
    ...defined({
      'gpu.mig': first.profile,
      'gpu.memoryMiB': Number.isFinite(memory) ? String(memory) : undefined,
      'gpu.computeCapability': first.computeCapability,
      'cuda.driverMax': report.cudaVersion,
    }),
    'driver.version': report.driverVersion,
  };
}
