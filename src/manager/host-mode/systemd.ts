import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';
import { stopTimeoutS } from '../docker/container.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import { bundleIn, locale, networkVariables, stopSignal, variableLines } from '../docker/agent-setup.ts';
import { agentUnits } from '../../shared/contract/paths.ts';
import { bytes } from '../../shared/contract/slots.ts';
import type { Slot } from '../model.ts';
import { slotFile } from './user.ts';

/** Runs a program of the host; throws if it fails. */
export async function runOrThrow(
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
    next: 'check `journalctl -u azp-fleet-manager`',
  });
}

const commandMs = 60_000;
const beginMs = 10 * commandMs;

const shownProperties =
  'LoadState,ActiveState,SubState,InvocationID,MainPID,Result,ExecMainStatus,ExecMainCode,ExecMainExitTimestamp';

/** The state of a unit, by property. */
export type UnitState = Readonly<Record<string, string>>;

/** The transient units of the runs. */
export class Systemd {
  readonly #command: RunCommand;

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** Starts a unit by the arguments of systemd-run. */
  async begin(args: readonly string[]): Promise<void> {
    await runOrThrow(this.#command, 'systemd-run', args, beginMs);
  }

  /** Sends a signal to its main process; the unit stays. */
  async signal(unit: string, signal: string): Promise<void> {
    await this.#command('systemctl', ['kill', '--kill-who=main', `--signal=${signal}`, unit], commandMs);
  }

  /** Stops a unit with all its processes. */
  async stop(unit: string): Promise<void> {
    await this.#command('systemctl', ['stop', unit], commandMs + stopTimeoutS * 1000);
  }

  /** Stops a unit and frees its name, which an exited unit still holds. */
  async release(unit: string): Promise<void> {
    await this.stop(unit);
    await this.#command('systemctl', ['reset-failed', unit], commandMs);
  }

  /** Returns its state. Undefined: systemd did not answer, and the unit may run. */
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

/** `absent`: systemd has no such unit. `unknown`: it did not answer, and the unit may run. */
type Liveness = 'running' | 'ended' | 'absent' | 'unknown';

/**
 * Returns whether the unit of a run is running. All other states are those of a unit with processes, also while it is being
 * stopped; with RemainAfterExit= a unit is `exited` after its main process. Pure.
 */
export function livenessOf(state: UnitState | undefined): Liveness {
  if (state === undefined) return 'unknown';
  const { ActiveState, SubState } = state;
  if (ActiveState === 'inactive') return 'absent';
  if (ActiveState === 'failed' || (ActiveState === 'active' && SubState === 'exited')) return 'ended';
  return 'running';
}

/** True for a unit that runs or may run: it is not removed, and its slot starts no other run. */
export function mayRun(liveness: Liveness): boolean {
  return liveness === 'running' || liveness === 'unknown';
}

/** Returns the exit code as in a shell, 128 plus the number for a signal; 255 when the unit was lost in a reboot. Pure. */
export function exitCode(state: UnitState): number {
  if (state['LoadState'] !== 'loaded') return 255;
  const status = Number(state['ExecMainStatus'] ?? 0);
  // 1: it exited; otherwise a signal killed it.
  return state['ExecMainCode'] === '1' || state['ExecMainCode'] === '0' ? status : 128 + status;
}

/**
 * Returns when the main process exited, milliseconds since the epoch, in whole seconds; undefined when the unit was lost.
 * systemd prints text (`Sat 2026-11-21 13:00:00 UTC`); --timestamp= would need version 247. Pure.
 */
export function exitedAt(state: UnitState): number | undefined {
  const [, day, time] =
    / (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/.exec(state['ExecMainExitTimestamp'] ?? '') ?? [];
  return day === undefined || time === undefined ? undefined : Date.parse(`${day}T${time}Z`);
}

interface HostUnit {
  readonly name: string;
  /** The agent's folder, a real path of the host: the agent passes paths below it to dockerd. */
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

/** Returns the arguments of systemd-run for one run with `mode: host`. Pure; none is secret. */
export function unitArguments(unit: HostUnit): readonly string[] {
  const { config, slot } = unit;
  const properties = [
    'Type=exec',
    'RemainAfterExit=yes',
    `User=${unit.user}`,
    `WorkingDirectory=${unit.root}`,
    `StandardOutput=append:${unit.log}`,
    `StandardError=append:${unit.log}`,
    // Only the listener gets the signal: a job that gets it fails instead of being canceled.
    'KillMode=mixed',
    `KillSignal=${stopSignal}`,
    `TimeoutStopSec=${stopTimeoutS}`,
    'OOMScoreAdjust=500',
    'PrivateTmp=yes',
    // Without the system bus a job cannot enable lingering, which would leave a user manager running.
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
    // Through a shell: with SELinux systemd may not start programs below /var/lib.
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
    // No container hides the GPUs of other slots; UUIDs are stable.
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
