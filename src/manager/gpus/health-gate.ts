import type { Clock } from '../../shared/base/clock.ts';
import type { Cause } from '../model.ts';

/** How often a slot was closed because of its GPUs. Times are monotonic. */
export interface HealthGate {
  /** Times of closing within the last hour. */
  readonly closings: readonly number[];
  /** Why it was closed the last time. */
  readonly because: string;
  /** It stays closed until then, even without a finding. */
  readonly until: number;
  /** The last check had a finding. */
  readonly isBad: boolean;
}

export const newGate: HealthGate = {
  closings: [],
  because: '',
  until: Number.NEGATIVE_INFINITY,
  isBad: false,
};

const hourMs = 3_600_000;
const minuteMs = 60_000;

/**
 * Returns how long a slot stays closed after its last finding; `closings`: how often within an hour. After one or two it
 * opens with the first check without a finding. A third is likely to repeat and costs a job and an agent each time, so the
 * pause grows to an hour. Unscaled milliseconds. Pure.
 */
export function pauseMs(closings: number): number {
  return closings < 3 ? 0 : Math.min(60, 10 * 2 ** (closings - 3)) * minuteMs;
}

/**
 * Returns a slot's gate after a check. `found`: the finding that closes it. A finding during the pause is no new closing and
 * restarts the pause. `scaled`: converts unscaled milliseconds. Pure.
 */
export function afterCheck(
  gate: HealthGate,
  check: { readonly at: number; readonly found: string | undefined },
  scaled: (ms: number) => number,
): HealthGate {
  const { at, found } = check;
  if (found === undefined) return { ...gate, isBad: false };
  const recent = gate.closings.filter((closing) => at - closing < scaled(hourMs));
  const wasOpen = !gate.isBad && at >= gate.until;
  const closings = wasOpen ? [...recent, at] : recent;
  return { closings, because: found, until: at + scaled(pauseMs(closings.length)), isBad: true };
}

interface Kept {
  readonly gate: HealthGate;
  /** Time of the last check; monotonic. */
  readonly seenAt: number;
  /** UUIDs of its GPUs. */
  readonly gpus: readonly string[];
  /** End of the pause, ISO 8601. */
  readonly until: string;
}

/** Keeps slots closed whose GPUs fail repeatedly. A restart of the manager opens them. */
export class HealthGates {
  readonly #clock: Pick<Clock, 'monotonic' | 'wall' | 'scaled'>;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, 'monotonic' | 'wall' | 'scaled'>) {
    this.#clock = clock;
  }

  /** Notes a check once, and returns why the slot stays closed without a finding. */
  check(
    slot: { readonly name: string; readonly gpus: readonly string[] },
    { seenAt, found }: { readonly seenAt: number; readonly found: Cause | undefined },
  ): Cause | undefined {
    const before = this.#kept.get(slot.name);
    const kept = before?.seenAt === seenAt ? before : this.#after(before, slot.gpus, seenAt, found);
    this.#kept.set(slot.name, kept);
    const { gate, until } = kept;
    if (found !== undefined || this.#clock.monotonic() >= gate.until) return undefined;
    return {
      code: 'gpu.unsteady',
      what: `closed ${gate.closings.length} times within an hour, last because of: ${gate.because}; stays closed until ${until}`,
      next: 'check `journalctl -k | grep NVRM`; `azp-fleet repaired` opens it at once',
    };
  }

  /** Opens the slots with these GPUs (UUIDs), or all, after a repair. */
  open(gpus: readonly string[] | 'all'): void {
    for (const [slot, kept] of this.#kept)
      if (gpus === 'all' || kept.gpus.some((gpu) => gpus.includes(gpu))) this.#kept.delete(slot);
  }

  #after(before: Kept | undefined, gpus: readonly string[], seenAt: number, found: Cause | undefined): Kept {
    const check = { at: seenAt, found: found?.what };
    const gate = afterCheck(before?.gate ?? newGate, check, (ms) => this.#clock.scaled(ms));
    const until = gate.until === before?.gate.until ? before.until : this.#wallTime(gate.until);
    return { gate, seenAt, gpus, until };
  }

  #wallTime(at: number): string {
    if (!Number.isFinite(at)) return '';
    const wall = this.#clock.wall() + at - this.#clock.monotonic();
    return `${new Date(wall).toISOString().slice(0, 19)}Z`;
  }
}
