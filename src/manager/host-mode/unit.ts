import type { ManagerConfig } from '../../shared/contract/config.ts';
import { stopSignal } from '../docker/agent-start.ts';
import { agentUnits } from '../../shared/contract/paths.ts';
import { bytes } from '../../shared/contract/size.ts';
import { stopTimeoutS } from '../docker/container.ts';
import { locale, networkVariables, variableLines } from '../docker/environment.ts';
import { bundleIn } from '../docker/site-files.ts';
import type { Slot } from '../model.ts';
import { slotFile } from './user.ts';

export interface HostUnit {
  readonly name: string;
  /** The agent's folder, at this path for it and for all others: it hands paths below it to dockerd. */
  readonly root: string;
  readonly log: string;
  readonly user: string;
  readonly config: ManagerConfig;
  readonly slot: Slot;
  /** Group that may use the Docker socket; only for `jobs.docker`. */
  readonly dockerGid: number | undefined;
}

const systemBus = '/run/dbus/system_bus_socket';

export function unitName(slot: string): string {
  return `${agentUnits}${slotFile(slot)}.service`;
}

/** The arguments of systemd-run for one run of an agent straight on the host. Pure; nothing of it is secret. */
export function unitArguments(unit: HostUnit): readonly string[] {
  const { config, slot } = unit;
  const properties = [
    'Type=exec',
    'RemainAfterExit=yes',
    `User=${unit.user}`,
    `WorkingDirectory=${unit.root}`,
    `StandardOutput=append:${unit.log}`,
    `StandardError=append:${unit.log}`,
    // To the listener alone: a job that gets it, too, fails instead of being canceled.
    'KillMode=mixed',
    `KillSignal=${stopSignal}`,
    `TimeoutStopSec=${stopTimeoutS}`,
    'OOMScoreAdjust=500',
    'PrivateTmp=yes',
    // Without the system's bus nobody can enable-linger, which would leave a user manager behind the job.
    ...(config.jobs.sudo
      ? []
      : ['NoNewPrivileges=yes', 'CapabilityBoundingSet=', `InaccessiblePaths=-${systemBus}`]),
    ...(unit.dockerGid === undefined ? [] : [`SupplementaryGroups=${unit.dockerGid}`]),
    ...limits(slot),
  ];
  return [
    `--unit=${unit.name}`,
    `--description=Azure Pipelines agent ${slot.agent}`,
    ...properties.flatMap((property) => ['-p', property]),
    ...variables(unit).flatMap((line) => ['-E', line]),
    // By a shell: where SELinux is on, systemd itself may start nothing that lies below /var/lib.
    '/bin/sh',
    '-c',
    `exec ${unit.root}/bin/Agent.Listener run --once`,
  ];
}

function variables({ config, slot, user, root }: HostUnit): readonly string[] {
  const steering = {
    HOME: `${root}/home`,
    USER: user,
    LOGNAME: user,
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...locale,
    PIPELINE_JOB_OOMSCOREADJ: '1000',
    // There is no container that hides the other slots' GPUs; UUIDs keep their meaning here.
    CUDA_VISIBLE_DEVICES: slot.gpus.join(','),
    ...networkVariables(config, bundleIn(root)),
  };
  return variableLines(steering, Object.fromEntries(config.datasets.map(({ name, host }) => [name, host])));
}

function limits({ limits: { memory, pids }, cpuShares = 1024 }: Slot): readonly string[] {
  return [
    ...(memory === undefined ? [] : [`MemoryMax=${bytes(memory)}`, 'MemorySwapMax=0']),
    // 100 is systemd's own weight, 1024 Docker's shares.
    `CPUWeight=${Math.min(Math.max(Math.round((cpuShares * 100) / 1024), 1), 10_000)}`,
    `TasksMax=${pids ?? 16_384}`,
  ];
}
