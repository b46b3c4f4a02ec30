import type { Clock } from '../../shared/base/clock.ts';
import { managerUnit } from '../../shared/contract/paths.ts';
import { runCommand } from '../machine/command.ts';

/** How a pass ended. `outside`: the host, Docker or the server failed, which another version would not change. */
export type PassEnd = 'whole' | 'outside' | 'broken';

/**
 * Real milliseconds that readiness waits for the first look at the GPUs: an nvidia-smi that hangs, or takes half a minute on
 * cold GPUs, must not count as a version that does not start, for which systemd waits 60 s.
 */
const firstLookMs = 20_000;

/** A manager that has lived so long, in unscaled milliseconds, has not come back from a crash only to crash again. */
const settledMs = 10 * 60_000;

/** Reports the running manager to systemd after each pass. */
export class LifeSigns {
  readonly #notifier: Notifier;
  readonly #clock: Clock;
  readonly #since: number;
  #readySince: number | undefined;
  #isSettled = false;
  #told = Number.NEGATIVE_INFINITY;

  constructor(notifier: Notifier, clock: Clock) {
    this.#notifier = notifier;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** `gpusLooked`: what the GPUs are is known, or that it cannot be. */
  async after(end: PassEnd, gpusLooked: boolean, summary: () => string): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#readySince === undefined) {
      if (end === 'broken' || !(gpusLooked || now - this.#since >= firstLookMs)) return;
      this.#readySince = now;
      await this.#notifier.ready(summary());
    }
    // The watchdog restarts a loop that makes no progress.
    if (end !== 'whole') return;
    const { intervalMs } = this.#notifier;
    if (intervalMs !== undefined && now - this.#told >= intervalMs) {
      this.#told = now;
      await this.#notifier.alive(summary());
    }
    if (this.#isSettled || now - this.#readySince < this.#clock.scaled(settledMs)) return;
    this.#isSettled = true;
    await this.#notifier.settled();
  }
}

type Send = typeof runCommand;

/** Tells systemd how we are. Node has no datagram sockets of the needed kind, so systemd-notify speaks for us. */
export interface Notifier {
  /** The unit has started: a version that never says so gives way to the one before. */
  ready(status: string): Promise<void>;
  /** Sent only when the reconcile loop has made progress. */
  alive(status: string): Promise<void>;
  /** The next crash is the first again: systemd never forgets by itself how often it has restarted a unit. */
  settled(): Promise<void>;
  stopping(): Promise<void>;
  /** Real milliseconds between two signs of life; undefined: nobody watches. */
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
