import { AsyncLocalStorage } from 'node:async_hooks';
import { backoffMs, type Clock } from '../shared/base/clock.ts';
import { foreignLine } from '../shared/base/foreign-text.ts';
import type { Logger } from '../shared/base/log.ts';
import { causeOf } from './causes.ts';
import type { Cause } from './model.ts';

/** The parts that run beside the loop over the slots, as the status names them. */
export const subsystemNames = [
  'agent clean-up',
  'agent images',
  'agent pools',
  'connection test',
  'Docker events',
  'GPU check',
  'GPU probe',
  'history',
  'image clean-up',
  'kernel log',
  'metrics',
  'network isolation',
  'network mounts',
  'other GPU processes',
  'power-off',
  'run records',
  'state file',
  'token check',
  'webhook',
] as const;

export type Subsystem = (typeof subsystemNames)[number];

const running = new AsyncLocalStorage<Subsystem>();

/** Returns the subsystem whose code runs now; undefined: the loop over the slots, the start or the exit. */
export function currentSubsystem(): Subsystem | undefined {
  return running.getStore();
}

/** An uncaught error that ended a manager. */
export interface Crash {
  /** Milliseconds since 1970, by the clock of then. */
  readonly at: number;
  /** One line. */
  readonly reason: string;
  /** The subsystem in which it was thrown, if known. */
  readonly subsystem?: Subsystem;
}

/** Crashes of the last ten minutes that the next manager reports and avoids. */
export interface CrashHistory {
  readonly latest?: Crash;
  /** Subsystems that the manager starts without. */
  readonly off: ReadonlyMap<Subsystem, Crash>;
}

const recentMs = 10 * 60_000;
/** As many crashes in a subsystem for one reason within ten minutes turn it off. */
const mostAlike = 3;

/** Returns the crashes that count at a start. `wall`: now. Pure. */
export function crashHistory(crashes: readonly Crash[], wall: number): CrashHistory {
  const recent = crashes.filter(({ at }) => at <= wall && wall - at < recentMs);
  const off = new Map<Subsystem, Crash>();
  for (const crash of recent) {
    const alike = recent.filter(
      ({ reason, subsystem }) => reason === crash.reason && subsystem === crash.subsystem,
    );
    if (crash.subsystem !== undefined && alike.length >= mostAlike) off.set(crash.subsystem, crash);
  }
  const latest = recent.at(-1);
  return { off, ...(latest === undefined ? {} : { latest }) };
}

/** Work that runs until the signal is aborted. */
type Work = (signal: AbortSignal) => Promise<unknown>;

/** Runs the subsystems: the failure of one is its own, is shown in the status, and is followed by another try. */
export class Subsystems {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #history: CrashHistory;
  readonly #startedAt: number;
  /** By subsystem, its failures in a row and the latest one; `at` is monotonic. */
  readonly #failures = new Map<
    Subsystem,
    { readonly count: number; readonly at: number; readonly what: string }
  >();

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }, history: CrashHistory) {
    this.#clock = clock;
    this.#log = log;
    this.#history = history;
    this.#startedAt = clock.monotonic();
  }

  /** Runs a subsystem until the signal is aborted. One that fails starts again after 5 s, 10 s, … at most 10 minutes. */
  async run(name: Subsystem, signal: AbortSignal, work: Work): Promise<void> {
    if (this.#history.off.has(name)) return;
    while (!signal.aborted) {
      // Its other loops end with the one that failed.
      const end = new AbortController();
      try {
        await running.run(name, async () => work(AbortSignal.any([signal, end.signal])));
        return;
      } catch (error) {
        end.abort();
        if (signal.aborted) return;
        await this.#clock.wait(backoffMs(this.#note(name, error) + 1), signal);
      }
    }
  }

  /** Failures of the last ten minutes, subsystems that are off, and the crash before this start. */
  get problems(): readonly Cause[] {
    const { latest, off } = this.#history;
    const isOver = (at: number): boolean => this.#clock.monotonic() - at >= this.#clock.scaled(recentMs);
    return [
      ...[...off].map(([name, crash]) => turnedOff(name, crash)),
      ...(latest === undefined || isOver(this.#startedAt) ? [] : [crashed(latest)]),
      ...[...this.#failures].flatMap(([name, { at, what }]) => (isOver(at) ? [] : [failed(name, what)])),
    ];
  }

  /** Notes a failure; returns the number of failures in a row, each within ten minutes of the one before. */
  #note(name: Subsystem, error: unknown): number {
    const at = this.#clock.monotonic();
    const before = this.#failures.get(name);
    const isAgain = before !== undefined && at - before.at < this.#clock.scaled(2 * recentMs);
    const count = isAgain ? before.count + 1 : 1;
    const { what } = causeOf(error);
    this.#failures.set(name, { count, at, what });
    this.#log.log('error', 'a subsystem failed; it starts again', { subsystem: name, error });
    return count;
  }
}

/** Returns one line that names an error, the same for the same fault. */
export function reasonOf(error: unknown): string {
  return foreignLine(error instanceof Error ? `${error.name}: ${error.message}` : String(error), 300);
}

const report = 'report it with the lines of journalctl -u azp-fleet-manager';

function failed(name: Subsystem, what: string): Cause {
  return {
    code: 'manager.subsystem-failed',
    what: `subsystem "${name}" failed: ${what}`,
    next: `wait: it starts again by itself; if this stays, ${report}`,
  };
}

function turnedOff(name: Subsystem, { reason }: Crash): Cause {
  return {
    code: 'manager.subsystem-off',
    what: `the manager runs without its subsystem "${name}", which ended it ${mostAlike} times in 10 minutes: ${reason}`,
    next: `${report}; "systemctl restart azp-fleet-manager" starts it with the subsystem again after 10 minutes`,
  };
}

function crashed({ at, reason, subsystem }: Crash): Cause {
  const where = subsystem === undefined ? '' : ` in subsystem "${subsystem}"`;
  return {
    code: 'manager.crashed',
    what: `the manager ended on an uncaught error${where} at ${new Date(at).toISOString().slice(0, 19)}Z; running jobs continued: ${reason}`,
    next: report,
  };
}
