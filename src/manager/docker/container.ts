import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import type { EngineAbilities } from './engine-abilities.ts';
import type { LeftSession, NextKey, Slot } from '../model.ts';
import { agentNetwork, Labels } from '../../shared/contract/paths.ts';
import { bytes } from '../../shared/contract/slots.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import { deviceRequests } from '../../shared/health/device-request.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { agentStart, bundleIn, isForeign, locale, networkVariables, variableLines } from './agent-setup.ts';
import { agentMounts } from './mounts.ts';

/** Everything that one start of a slot needs. */
export interface LaunchOrder extends EngineAbilities {
  readonly slot: Slot;
  readonly run: string;
  readonly image: string;
  readonly settings: string;
  readonly pool: { readonly id: number; readonly name: string };
  readonly capabilities: Readonly<Record<string, string>>;
  /** Returns the version to register; `known`: the version on the server. */
  agentVersion(known: string | undefined): string;
  /** Rejects with `NotYet` while a job would not be alone on the slot's GPUs. */
  requireClean(): Promise<void>;
  /** The agent's entry on the server; `given` is called before a container gets the agent's key. */
  readonly key: { readonly next: NextKey | undefined; given(): void };
  /** The session that an earlier agent of the slot left on the server; `renewed` is called when its entry is created again. */
  readonly connection: { readonly left: LeftSession | undefined; renewed(): void };
}

/** The files that register a container as this agent. */
export interface Registration {
  readonly agentId: number;
  readonly files: readonly { readonly name: string; readonly content: string }[];
}

/** Returns an id that sorts by wall time, also over restarts: 9 digits of base-36 milliseconds, then random ones. */
export function runId(now: number): string {
  return `${now.toString(36).padStart(9, '0')}-${randomBytes(3).toString('hex')}`;
}

/** Input of a container's create request. */
export interface Recipe extends Pick<EngineAbilities, 'gpuPath' | 'dockerGid' | 'readOnlyBelow' | 'sizes'> {
  readonly config: ManagerConfig;
  readonly slot: Slot;
  readonly run: string;
  readonly image: string;
  readonly settings: string;
  readonly agentId: number;
  readonly poolId: number;
}

/** Seconds between the stop signal and SIGKILL: the agent takes up to 60 s to cancel a job and 30 s to exit. */
export const stopTimeoutS = 120;

const gib = 1024 ** 3;

/** Returns the create request of one agent container. Pure. It has no secret: the agent's key is copied in afterwards. */
export function containerOptions(recipe: Recipe): Docker.ContainerCreateOptions {
  const { config, slot } = recipe;
  return {
    Image: recipe.image,
    Hostname: slot.agent.slice(0, 63),
    Labels: labels(recipe),
    Env: environment(config, slot, recipe.gpuPath),
    ...agentStart(slot.image, slot.uid),
    StopTimeout: stopTimeoutS,
    HostConfig: {
      // The image built here contains tini; another may not.
      Init: isForeign(slot.image),
      // The run record is read after the exit, then the container is removed.
      AutoRemove: false,
      NetworkMode: agentNetwork,
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } },
      OomScoreAdj: 500,
      DeviceRequests: deviceRequests(recipe.gpuPath, slot.gpus, slot.capabilities),
      Mounts: agentMounts(config, recipe.readOnlyBelow),
      ...(recipe.dockerGid === undefined ? {} : { GroupAdd: [String(recipe.dockerGid)] }),
      ...(config.jobs.sudo ? {} : { SecurityOpt: ['no-new-privileges'], CapDrop: ['ALL'] }),
      ...limits(slot),
      ...size(recipe),
    },
  };
}

export function labels(recipe: Recipe): Record<string, string> {
  const { config, slot } = recipe;
  return {
    [Labels.kind]: 'agent',
    [Labels.host]: config.host,
    [Labels.slot]: slot.name,
    [Labels.run]: recipe.run,
    [Labels.agentId]: String(recipe.agentId),
    [Labels.poolId]: String(recipe.poolId),
    [Labels.gpus]: slot.gpus.join(','),
    [Labels.imageDigest]: recipe.image,
    [Labels.configHash]: recipe.settings,
  };
}

/** Returns the variables of a slot's containers; none is secret. */
export function environment(config: ManagerConfig, slot: Slot, gpuPath: Recipe['gpuPath']): string[] {
  const steering = {
    // Raising the score is always allowed. With too little memory the kernel kills the job, not the agent that reports it.
    PIPELINE_JOB_OOMSCOREADJ: '1000',
    ...(slot.gpus.length > 0 ? { NVIDIA_DRIVER_CAPABILITIES: slot.capabilities.join(',') } : {}),
    // With nvidia as Docker's default runtime, an image with "all" would get every GPU of the host.
    ...(slot.gpus.length === 0 || gpuPath === 'cdi' ? { NVIDIA_VISIBLE_DEVICES: 'void' } : {}),
    ...locale,
    ...networkVariables(config, bundleIn(AgentLayout.root)),
  };
  const datasets = config.datasets.map((dataset) => [dataset.name, dataset.container]);
  return variableLines(steering, Object.fromEntries(datasets) as Record<string, string>);
}

function limits({ limits: { memory, shm, pids }, cpuShares = 1024 }: Slot): Docker.HostConfig {
  return {
    // Docker's 64 MiB make data loaders fail with bus errors; unused shared memory costs nothing.
    ShmSize: shm === undefined ? gib : bytes(shm),
    PidsLimit: pids ?? 16_384,
    // Swap counts too: without it a job over its limit would make the whole host swap.
    ...(memory === undefined ? {} : { Memory: bytes(memory), MemorySwap: bytes(memory) }),
    // Shares, no cap: idle CPU time is free for all.
    CpuShares: cpuShares,
  };
}

/** Returns the size limit of the container's writable layer, without volumes and mounts. */
function size({ slot, sizes }: Recipe): Docker.HostConfig {
  const { disk } = slot.limits;
  return disk === undefined || sizes.unsupported !== undefined
    ? {}
    : { StorageOpt: { size: String(bytes(disk)) } };
}
