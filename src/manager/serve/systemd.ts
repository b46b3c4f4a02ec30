import type { Clock } from '../../shared/base/clock.ts';
import { managerUnit } from '../../shared/contract/paths.ts';
import { runCommand } from '../machine/command.ts';

/** The end of a pass. `external`: the host, Docker or the server failed, with any version of the manager. */
export type PassEnd = 'done' | 'external' | 'failed';

/**
 * Real milliseconds that readiness waits for the first check of the GPUs. nvidia-smi may hang, or take half a minute on cold
 * GPUs; systemd treats a manager that is not ready within 60 s as a failed start.
 */
const firstCheckMs = 20_000;

/** A manager that has run this long, in unscaled milliseconds, does not crash repeatedly. */
const settledAfterMs = 10 * 60_000;

/** Reports the running manager to systemd after each pass. */
export class LifeSigns {
  readonly #notifier: Notifier;
  readonly #clock: Clock;
  readonly #since: number;
  #readySince: number | undefined;
  #isSettled = false;
  #notifiedAt = Number.NEGATIVE_INFINITY;

  constructor(notifier: Notifier, clock: Clock) {
    this.#notifier = notifier;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Reports the end of a pass. `gpusChecked`: the GPUs are known, or cannot be read. */
  async after(end: PassEnd, gpusChecked: boolean, summary: () => string): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#readySince === undefined) {
      if (end === 'failed' || !(gpusChecked || now - this.#since >= firstCheckMs)) return;
      this.#readySince = now;
      await this.#notifier.ready(summary());
    }
    // The watchdog restarts a loop that makes no progress.
    if (end !== 'done') return;
    const { intervalMs } = this.#notifier;
    if (intervalMs !== undefined && now - this.#notifiedAt >= intervalMs) {
      this.#notifiedAt = now;
      await this.#notifier.alive(summary());
    }
    if (this.#isSettled || now - this.#readySince < this.#clock.scaled(settledAfterMs)) return;
    this.#isSettled = true;
    await this.#notifier.settled();
  }
}

type Send = typeof runCommand;

/** Notifies systemd through systemd-notify, because Node has no Unix datagram sockets. */
export interface Notifier {
  /** Reports that the unit has started; without it the previous version is restored. */
  ready(status: string): Promise<void>;
  /** Reports progress of the reconcile loop. */
  alive(status: string): Promise<void>;
  /** Resets systemd's count of restarts, which does not expire. */
  settled(): Promise<void>;
  stopping(): Promise<void>;
  /** Real milliseconds between two notifications; undefined: no watchdog. */
  readonly intervalMs: number | undefined;
}

export function systemdNotifier(
  env: Readonly<Record<string, string | undefined>>,
  run: Send = runCommand,
): Notifier {
  const socket = env['NOTIFY_SOCKET'];
  const watchdogUs = Number(env['WATCHDOG_USEC'] ?? 0);
  const send = async (...args: string[]): Promise<void> => {
    if (socket === undefined) return;
    await run('systemd-notify', args, 10_000, { NOTIFY_SOCKET: socket });
  };
  return {
    ready: (status) => send('--ready', `--status=${status}`),
    alive: (status) => send(`--status=${status}`, 'WATCHDOG=1'),
    settled: async () => {
      if (socket !== undefined) await run('systemctl', ['reset-failed', managerUnit], 10_000);
    },
    stopping: () => send('STOPPING=1'),
    intervalMs: watchdogUs > 0 ? watchdogUs / 1000 / 3 : undefined,
  };
}
