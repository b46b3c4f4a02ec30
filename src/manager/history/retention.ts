import { encode, type Entry, type GpuSample, type KeptEntry, type SampleEntry } from './entries.ts';

const dayS = 24 * 3600;
/** Samples are kept as they are for this long, then one for each of these times. */
const fineS = dayS;
const coarseS = 15 * 60;
/** Everything but kept facts is dropped after this time. */
export const longestS = 14 * dayS;
/** Keys of kept facts: a host has a dozen, and two for each GPU and slot. */
const mostKept = 500;

/** A line of the file with its entry. */
export interface Line {
  readonly text: string;
  readonly entry: Entry;
}

/** Thins the lines of a ring, in their order. `now`: seconds since the epoch. */
export class Thinning {
  readonly #now: number;
  #pending: SampleEntry | undefined;

  constructor(now: number) {
    this.#now = now;
  }

  /** Returns the lines that follow from the next line. Kept facts are not among them: see `keptFacts`. */
  add({ text, entry }: Line): readonly string[] {
    const age = this.#now - entry.at;
    if (entry.kind === 'kept' || age > longestS) return [];
    // An event between two samples of one period does not part them.
    if (entry.kind !== 'sample') return [text];
    if (age <= fineS) return [...this.end(), text];
    const before = this.#pending;
    if (before !== undefined && periodOf(before) === periodOf(entry)) {
      this.#pending = merged(before, entry);
      return [];
    }
    const done = this.end();
    this.#pending = entry;
    return done;
  }

  /** Returns what is left after the last line. */
  end(): readonly string[] {
    const left = this.#pending === undefined ? [] : [encode(this.#pending)];
    this.#pending = undefined;
    return left;
  }
}

/** Returns the number of the 15 minutes in which a sample ends. */
function periodOf({ at }: SampleEntry): number {
  return Math.ceil(at / coarseS);
}

/** Returns one sample for two: means weighted by time, the most memory, and the highest temperature. Pure. */
export function merged(one: SampleEntry, other: SampleEntry): SampleEntry {
  const gpus = new Map(one.gpus);
  for (const [gpu, sample] of other.gpus) {
    const before = gpus.get(gpu);
    gpus.set(gpu, before === undefined ? sample : mergedGpu(before, one.spanS, sample, other.spanS));
  }
  return { kind: 'sample', at: Math.max(one.at, other.at), spanS: one.spanS + other.spanS, gpus };
}

const means = ['utilizationPercent', 'powerW', 'throttled'] as const;
const peaks = ['memoryMiB', 'temperatureC'] as const;

function mergedGpu(one: GpuSample, oneS: number, other: GpuSample, otherS: number): GpuSample {
  const both: { -readonly [Name in keyof GpuSample]: number } = { ...other, ...one };
  for (const name of means) {
    const [a, b] = [one[name], other[name]];
    if (a !== undefined && b !== undefined) both[name] = (a * oneS + b * otherS) / (oneS + otherS);
  }
  for (const name of peaks) {
    const [a, b] = [one[name], other[name]];
    if (a !== undefined && b !== undefined) both[name] = Math.max(a, b);
  }
  return both;
}

/** The kept facts of a ring: the last of each key. */
export class KeptFacts {
  readonly #facts = new Map<string, KeptEntry>();

  add(entry: Entry): void {
    if (entry.kind !== 'kept') return;
    // The latest change last, so that a full table loses the oldest.
    this.#facts.delete(entry.key);
    if (entry.value !== '') this.#facts.set(entry.key, entry);
    const [oldest] = this.#facts.keys();
    if (this.#facts.size > mostKept && oldest !== undefined) this.#facts.delete(oldest);
  }

  get(key: string): string | number | undefined {
    return this.#facts.get(key)?.value;
  }

  keys(): readonly string[] {
    return [...this.#facts.keys()];
  }

  lines(): readonly string[] {
    return [...this.#facts.values()].map(encode);
  }
}
