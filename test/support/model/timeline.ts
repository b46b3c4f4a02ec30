/** A planned callback, which can be canceled. */
export interface Appointment {
  readonly cancel: () => void;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
  cancelled: boolean;
}

/** Time of a world, in milliseconds: it jumps from one event to the next. */
export class Timeline {
  #now = 0;
  #order = 0;
  /** A binary heap, the earliest first. */
  readonly #heap: Entry[] = [];
  /** Real work outside the world that must end before time continues. */
  #outside = 0;

  get now(): number {
    return this.#now;
  }

  after(ms: number, work: () => void): Appointment {
    const entry = { at: this.#now + Math.max(0, ms), order: this.#order, work, cancelled: false };
    this.#order += 1;
    this.#push(entry);
    return { cancel: () => (entry.cancelled = true) };
  }

  /** Makes time wait for real work, such as reading a file of this machine. */
  async outside<Value>(work: Promise<Value>): Promise<Value> {
    this.#outside += 1;
    try {
      return await work;
    } finally {
      this.#outside -= 1;
    }
  }

  /** Runs everything that is due within `ms`, until `isOver`; promises settle between two events. */
  async pass(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const until = this.#now + ms;
    await this.#settled();
    while (!isOver()) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until) {
        this.#now = until;
        return;
      }
      this.#pop();
      if (next.cancelled) continue;
      this.#now = next.at;
      next.work();
      await this.#settled();
    }
  }

  /** Resolves when every promise that can continue has continued. */
  async #settled(): Promise<void> {
    do {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    } while (this.#outside > 0);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    heap.push(entry);
    let at = heap.length - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(entry, heap[above])) break;
      heap[at] = heap[above] as Entry;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Entry, heap[below])) below += 1;
      if (!isBefore(heap[below] as Entry, last)) break;
      heap[at] = heap[below] as Entry;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry | undefined): boolean {
  return other === undefined || one.at < other.at || (one.at === other.at && one.order < other.order);
}
