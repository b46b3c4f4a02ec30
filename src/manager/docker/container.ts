import type Docker from 'dockerode';
import { agentNetwork, Labels } from '../../shared/contract/paths.ts';
import { bytes } from '../../shared/contract/size.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import { deviceRequests } from '../../shared/health/device-request.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { agentStart, isForeign } from './agent-start.ts';
import { locale, networkVariables, variableLines } from './environment.ts';
import { bundleIn } from './site-files.ts';
import type { Slot } from '../model.ts';
import type { EngineWays } from './engine-start.ts';
import { agentMounts } from './mounts.ts';

/** What a container is made from, besides the slot. */
export interface Recipe extends Pick<EngineWays, 'gpuPath' | 'dockerGid' | 'readOnlyBelow' | 'sizes'> {
  readonly config: ManagerConfig;
  readonly slot: Slot;
  readonly run: string;
  readonly image: string;
  readonly settings: string;
  readonly agentId: number;
  readonly poolId: number;
}

/** Seconds between the stop signal and SIGKILL: the agent takes up to 60 s to cancel a job and 30 s to leave. */
export const stopTimeoutS = 120;

const gib = 1024 ** 3;

/** The create request of one agent container. Pure. No secret is part of it: the agent's key is copied in afterwards. */
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
      // The image built here brings tini itself; a foreign one may not.
      Init: isForeign(slot.image),
      // Evidence is read after the end, then the container is removed.
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

/** Variables of a slot's containers; none of them is secret. */
export function environment(config: ManagerConfig, slot: Slot, gpuPath: Recipe['gpuPath']): string[] {
  const steering = {
    // Raising the score of a job's processes is always allowed: the job dies before the agent that reports it.
    PIPELINE_JOB_OOMSCOREADJ: '1000',
    ...(slot.gpus.length > 0 ? { NVIDIA_DRIVER_CAPABILITIES: slot.capabilities.join(',') } : {}),
    // Where nvidia is Docker's default runtime, images that say "all" would get every GPU of the host.
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
    // No cap: what nobody else wants is anybody's.
    CpuShares: cpuShares,
  };
}

/** Of what the container writes, its volumes and what is mounted apart. */
function size({ slot, sizes }: Recipe): Docker.HostConfig {
  const { disk } = slot.limits;
  return disk === undefined || sizes.lack !== undefined ? {} : { StorageOpt: { size: String(bytes(disk)) } };
}
