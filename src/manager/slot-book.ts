import type { Clock } from './clock.ts';
import { SlotMemory } from './memory.ts';

/** The memories of all slots, those of slots that are no longer configured included. */
export class SlotBook {
  readonly #clock: Clock;
  readonly #memories = new Map<string, SlotMemory>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(slot: string): SlotMemory {
    const known = this.#memories.get(slot);
    if (known !== undefined) return known;
    const fresh = new SlotMemory(this.#clock);
    this.#memories.set(slot, fresh);
    return fresh;
  }

  /** Says later of which slots an operation has ended since now: what was seen of them meanwhile may be old. */
  mark(): (slot: string) => boolean {
    const marks = new Map([...this.#memories].map(([slot, { operations }]) => [slot, operations]));
    return (slot) => this.of(slot).operations !== (marks.get(slot) ?? 0);
  }

  /** The moment before which waiting alone changes nothing, milliseconds since the epoch. */
  nextDue(latest: number): number {
    const now = this.#clock.now();
    const due = [...this.#memories.values()].flatMap((memory) => [memory.notBefore, memory.retryAt]);
    return Math.min(latest, ...due.filter((at) => at > now));
  }

  /** What has failed is tried again now: its circumstances have changed. */
  forgive(): void {
    for (const memory of this.#memories.values()) memory.forgive();
  }
}
