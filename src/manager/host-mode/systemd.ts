import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';
import { stopTimeoutS } from '../docker/container.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import { bundleIn, locale, networkVariables, stopSignal, variableLines } from '../docker/agent-setup.ts';
import { agentUnits } from '../../shared/contract/paths.ts';
import { bytes } from '../../shared/contract/slots.ts';
import type { Slot } from '../model.ts';
import { slotFile } from './user.ts';

/** A program of the host that has to succeed. */
export async function must(
  command: RunCommand,
  program: string,
  args: readonly string[],
  deadlineMs: number,
): Promise<void> {
  const { code, output } = await command(program, args, deadlineMs);
  if (code === 0) return;
  throw new FleetError({
    code: 'host-mode.failed',
    what: `${program} failed on the host`,
    seen: output.trim(),
    next: 'look at journalctl -u azp-fleet-manager',
  });
}

const commandMs = 60_000;
const beginMs = 10 * commandMs;

const shownProperties =
  'LoadState,ActiveState,SubState,InvocationID,MainPID,Result,ExecMainStatus,ExecMainCode,ExecMainExitTimestamp';

/** What systemd says of a unit, by property. */
export type UnitState = Readonly<Record<string, string>>;

/** The transient units of the runs. */
export class Systemd {
  readonly #command: RunCommand;

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** Starts a unit by the arguments of systemd-run. */
  async begin(args: readonly string[]): Promise<void> {
    await must(this.#command, 'systemd-run', args, beginMs);
  }

  /** To its main process alone; the unit stays. */
  async signal(unit: string, signal: string): Promise<void> {
    await this.#command('systemctl', ['kill', '--kill-who=main', `--signal=${signal}`, unit], commandMs);
  }

  /** With all its processes. */
  async stop(unit: string): Promise<void> {
    await this.#command('systemctl', ['stop', unit], commandMs + stopTimeoutS * 1000);
  }

  /** Ends it and frees its name, which a unit that has ended still holds. */
  async release(unit: string): Promise<void> {
    await this.stop(unit);
    await this.#command('systemctl', ['reset-failed', unit], commandMs);
  }

  /** Undefined: systemd did not answer, which says nothing about the unit. */
  async state(unit: string): Promise<UnitState | undefined> {
    const { code, output } = await this.#command(
      'systemctl',
      ['show', unit, '-p', shownProperties],
      commandMs,
    );
    const state: UnitState = Object.fromEntries(
      output.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
    );
    return code === 0 && (state['ActiveState'] ?? '') !== '' ? state : undefined;
  }
}

/** `absent`: systemd knows no such unit. `unknown`: it did not answer, and the unit may run. */
type Liveness = 'running' | 'ended' | 'absent' | 'unknown';

/**
 * Whether the unit of a run lives. All states but these are ones of a unit with processes, also one that is being stopped;
 * `exited` is what RemainAfterExit= leaves of one whose main process has ended. Pure.
 */
export function livenessOf(state: UnitState | undefined): Liveness {
  if (state === undefined) return 'unknown';
  const { ActiveState, SubState } = state;
  if (ActiveState === 'inactive') return 'absent';
  if (ActiveState === 'failed' || (ActiveState === 'active' && SubState === 'exited')) return 'ended';
  return 'running';
}

/** What may run is treated as what runs: nothing of it is removed, and its slot starts nothing else. */
export function mayRun(liveness: Liveness): boolean {
  return liveness === 'running' || liveness === 'unknown';
}

/** As a shell would say it, 128 and the number for a signal; 255 when systemd has forgotten the unit in a reboot. Pure. */
export function exitCode(state: UnitState): number {
  if (state['LoadState'] !== 'loaded') return 255;
  const status = Number(state['ExecMainStatus'] ?? 0);
  // 1: it exited; anything else: by a signal.
  return state['ExecMainCode'] === '1' || state['ExecMainCode'] === '0' ? status : 128 + status;
}

/**
 * When the main process ended, milliseconds since the epoch, in whole seconds; undefined when systemd has forgotten the
 * unit. It prints text (`Sat 2026-11-21 13:00:00 UTC`); --timestamp= would need version 247. Pure.
 */
export function exitedAt(state: UnitState): number | undefined {
  const [, day, time] =
    / (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/.exec(state['ExecMainExitTimestamp'] ?? '') ?? [];
  return day === undefined || time === undefined ? undefined : Date.parse(`${day}T${time}Z`);
}

interface HostUnit {
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
