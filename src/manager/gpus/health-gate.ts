import type { Clock } from '../../shared/base/clock.ts';
import type { Cause } from '../model.ts';

/** What is remembered of how often a slot was closed because of its GPUs. Times are monotonic. */
export interface Gate {
  /** When it was closed, within the last hour. */
  readonly closings: readonly number[];
  /** What it was closed for the last time. */
  readonly because: string;
  /** It stays closed until then, though nothing is found any more. */
  readonly until: number;
  /** Something was found at the last look. */
  readonly isBad: boolean;
}

export const newGate: Gate = { closings: [], because: '', until: Number.NEGATIVE_INFINITY, isBad: false };

const hourMs = 3_600_000;
const minuteMs = 60_000;

/**
 * How long a slot stays closed after the last sign of what closed it; `closings`: how often within an hour. Once and
 * twice it opens with the first look that finds nothing. Whatever comes three times comes again: each time a job and an
 * agent are lost to it, so the rest grows to the hour that is looked at. Unscaled milliseconds. Pure.
 */
export function restMs(closings: number): number {
  return closings < 3 ? 0 : Math.min(60, 10 * 2 ** (closings - 3)) * minuteMs;
}

/**
 * A slot's gate after a look. `found`: what closes it now. What is found while it rests is no closing, and the rest
 * begins anew. `scaled`: how unscaled milliseconds pass. Pure.
 */
export function afterLook(
  gate: Gate,
  look: { readonly at: number; readonly found: string | undefined },
  scaled: (ms: number) => number,
): Gate {
  const { at, found } = look;
  if (found === undefined) return { ...gate, isBad: false };
  const recent = gate.closings.filter((closing) => at - closing < scaled(hourMs));
  const wasOpen = !gate.isBad && at >= gate.until;
  const closings = wasOpen ? [...recent, at] : recent;
  return { closings, because: found, until: at + scaled(restMs(closings.length)), isBad: true };
}

interface Kept {
  readonly gate: Gate;
  /** The look that it was told of last; monotonic. */
  readonly seenAt: number;
  /** UUIDs of its GPUs. */
  readonly gpus: readonly string[];
  /** Until when it rests, for people. */
  readonly until: string;
}

/** Which slots rest because their GPUs come and go. A manager that is started anew begins anew. */
export class Gates {
  readonly #clock: Pick<Clock, 'monotonic' | 'wall' | 'scaled'>;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, 'monotonic' | 'wall' | 'scaled'>) {
    this.#clock = clock;
  }

  /** Takes note of a look, once, and says why the slot stays closed though nothing is found. */
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
      next: 'see what comes and goes: `journalctl -k | grep NVRM`; `azp-fleet repaired` opens it at once',
    };
  }

  /** Somebody has seen to these GPUs (UUIDs), or to all. */
  open(gpus: readonly string[] | 'all'): void {
    for (const [slot, kept] of this.#kept)
      if (gpus === 'all' || kept.gpus.some((gpu) => gpus.includes(gpu))) this.#kept.delete(slot);
  }

  #after(before: Kept | undefined, gpus: readonly string[], seenAt: number, found: Cause | undefined): Kept {
    const look = { at: seenAt, found: found?.what };
    const gate = afterLook(before?.gate ?? newGate, look, (ms) => this.#clock.scaled(ms));
    const until = gate.until === before?.gate.until ? before.until : this.#wallTime(gate.until);
    return { gate, seenAt, gpus, until };
  }

  #wallTime(at: number): string {
    if (!Number.isFinite(at)) return '';
    const wall = this.#clock.wall() + at - this.#clock.monotonic();
    return `${new Date(wall).toISOString().slice(0, 19)}Z`;
  }
}
