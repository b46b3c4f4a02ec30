import type { AzureAgent } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import type { Slot } from '../model.ts';

type Named = Readonly<Record<string, string>>;

/** Names that only we use. */
const ours = /^(?:azp-fleet|gpu|cuda|driver|dataset)\./;

/** What pipelines may demand of the agent of a slot, and who owns it. */
export function userCapabilities(
  config: ManagerConfig,
  slot: Slot,
  report: SmiReport | undefined,
  owner: string,
): Named {
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
 * What the agent is to have in the pool when it has `known` there. What a person added stays, and so does the reason of
 * a drain; what we put there and no longer want goes. Pure.
 */
export function mergeCapabilities(known: Named | undefined, wanted: Named): Named {
  const before = new Set((known?.[Capabilities.added] ?? '').split(','));
  const kept = Object.entries(known ?? {}).filter(
    ([name]) => name === Capabilities.drainReason || (!ours.test(name) && !before.has(name)),
  );
  return { ...Object.fromEntries(kept), ...wanted };
}

type Entry = Pick<AzureAgent, 'enabled' | 'userCapabilities'>;

/**
 * The same for an agent that lives. One that may work has no reason why not: it is left where a manager ended while it
 * gave the agent back, and a person's word would be taken for the manager's. Pure.
 */
export function published({ enabled, userCapabilities }: Entry, wanted: Named): Named {
  const { [Capabilities.drainReason]: reason, ...all } = mergeCapabilities(userCapabilities, wanted);
  return enabled || reason === undefined ? all : { ...all, [Capabilities.drainReason]: reason };
}

/** Whether an agent of ours carries other capabilities in the pool than it is to have. Pure. */
export function isDrifted(agent: Entry | undefined, wanted: Named): boolean {
  const known = agent?.userCapabilities;
  if (agent === undefined || known?.[Capabilities.owner] !== wanted[Capabilities.owner]) return false;
  return text(known ?? {}) !== text(published(agent, wanted));
}

function text(capabilities: Named): string {
  return JSON.stringify(Object.entries(capabilities).sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Device {
  readonly uuid: string;
  readonly model: string;
  readonly memoryTotalMiB?: number;
  readonly computeCapability?: string;
  readonly profile?: string;
}

/** Whole GPUs and the parts of those in MIG mode, as far as their UUIDs are known. */
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

function gpuCapabilities(slot: Slot, report: SmiReport | undefined): Named {
  const count = { 'gpu.count': String(slot.gpus.length) };
  if (report === undefined) return count;
  const wanted = new Set(slot.gpus.map((uuid) => uuid.toLowerCase()));
  const own = devices(report).filter(({ uuid }) => wanted.has(uuid.toLowerCase()));
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
