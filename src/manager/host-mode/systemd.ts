import type { RunCommand } from '../machine/command.ts';
import { stopTimeoutS } from '../docker/container.ts';
import { must } from './must.ts';

const commandMs = 60_000;
const beginMs = 10 * commandMs;

const properties =
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
    const { code, output } = await this.#command('systemctl', ['show', unit, '-p', properties], commandMs);
    const state: UnitState = Object.fromEntries(
      output.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
    );
    return code === 0 && (state['ActiveState'] ?? '') !== '' ? state : undefined;
  }
}

/** `absent`: systemd knows no such unit. `unknown`: it did not answer, and the unit may run. */
export type Liveness = 'running' | 'ended' | 'absent' | 'unknown';

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
