import {
  type GpuSeries,
  type HistoryEvent,
  type HistorySummary,
  longestSeries,
  type RunEvent,
  type SeriesAnswer,
  seriesPoints,
} from '../../shared/contract/history.ts';
import type { Entry, GpuSample, SampleEntry } from './entries.ts';

/** Days of the summary. */
const summaryS = 7 * 24 * 3600;
/** Bytes of an answer with events: a thousand have some 300 KiB. */
const longestEvents = 2 * 1024 ** 2;
/** Different causes in a summary; a host has a dozen. */
const mostCauses = 50;

/** Collects events of a time and the summary of a week. Runs that were recorded twice count once. */
export class EventCollector {
  readonly #since: number;
  readonly #limit: number;
  readonly #weekFrom: number;
  readonly #now: number;
  #events: HistoryEvent[] = [];
  #omitted = 0;
  #oldest: number | undefined;
  #jobs = 0;
  readonly #runs = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #busy = new Map<string, (readonly [number, number])[]>();

  /** All times in seconds since the epoch. */
  constructor({
    since,
    limit,
    now,
  }: {
    readonly since: number;
    readonly limit: number;
    readonly now: number;
  }) {
    this.#since = since;
    this.#limit = limit;
    this.#now = now;
    this.#weekFrom = now - summaryS;
  }

  add(entry: Entry): void {
    this.#oldest = Math.min(this.#oldest ?? entry.at, entry.at);
    if (entry.kind !== 'event') return;
    const { at, event } = entry;
    if (event.run !== undefined) {
      if (this.#runs.has(event.run.id)) return;
      this.#runs.add(event.run.id);
      if (at >= this.#weekFrom) this.#count(event.run, at);
    }
    if (at < this.#since) return;
    this.#events.push({ at: isoOf(at), ...event });
    // Twice as many are held, so that the list is cut seldom.
    if (this.#events.length >= 2 * this.#limit) this.#cut();
  }

  #cut(): void {
    this.#omit(Math.max(0, this.#events.length - this.#limit));
  }

  #omit(surplus: number): void {
    this.#omitted += surplus;
    this.#events = this.#events.slice(surplus);
  }

  #count(run: RunEvent, at: number): void {
    if (run.job !== undefined) this.#jobs += 1;
    const cause = run.cause ?? run.result ?? 'unknown';
    if (run.failed && (this.#failures.has(cause) || this.#failures.size < mostCauses))
      this.#failures.set(cause, (this.#failures.get(cause) ?? 0) + 1);
    if (run.durationS === undefined) return;
    const span = [Math.max(this.#weekFrom, at - run.durationS), at] as const;
    for (const gpu of run.gpus) {
      const spans = this.#busy.get(gpu) ?? [];
      spans.push(span);
      this.#busy.set(gpu, spans);
    }
  }

  end(): {
    readonly events: readonly HistoryEvent[];
    readonly omitted: number;
    readonly summary: HistorySummary;
  } {
    this.#cut();
    let left = longestEvents;
    this.#omit(
      this.#events.findLastIndex((event) => (left -= Buffer.byteLength(JSON.stringify(event))) < 0) + 1,
    );
    const failures = [...this.#failures].map(([cause, count]) => ({ cause, count }));
    return {
      events: this.#events,
      omitted: this.#omitted,
      summary: {
        since: isoOf(Math.max(this.#weekFrom, this.#oldest ?? this.#now)),
        jobs: this.#jobs,
        failures: failures.toSorted((a, b) => b.count - a.count || (a.cause < b.cause ? -1 : 1)),
        busy: [...this.#busy].map(([gpu, spans]) => ({
          gpu,
          hours: Math.round((covered(spans) / 3600) * 100) / 100,
        })),
      },
    };
  }
}

/** Returns how much time the spans cover together: jobs may share a GPU. Pure. */
function covered(spans: readonly (readonly [number, number])[]): number {
  let [sum, until] = [0, Number.NEGATIVE_INFINITY];
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}

/** Returns ISO 8601; the epoch for a time that no date has. */
function isoOf(seconds: number): string {
  const date = new Date(seconds * 1000);
  return (Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString();
}

type Values = keyof Omit<GpuSeries, 'gpu'>;

const sources: Readonly<Record<Values, { readonly name: keyof GpuSample; readonly isPeak: boolean }>> = {
  utilizationPercent: { name: 'utilizationPercent', isPeak: false },
  memoryUsedMiB: { name: 'memoryMiB', isPeak: true },
  temperatureC: { name: 'temperatureC', isPeak: true },
  powerW: { name: 'powerW', isPeak: false },
};
const names = Object.keys(sources) as readonly Values[];

interface Point {
  sum: number;
  weight: number;
}

/** Collects the samples of a time into a fixed number of points for each GPU. */
export class SeriesCollector {
  readonly #from: number;
  readonly #stepS: number;
  readonly #gpus = new Map<string, Readonly<Record<Values, (Point | undefined)[]>>>();

  constructor({ now, hours }: { readonly now: number; readonly hours: number }) {
    this.#stepS = (hours * 3600) / seriesPoints;
    this.#from = now - hours * 3600;
  }

  add(entry: Entry): void {
    if (entry.kind !== 'sample') return;
    const index = Math.ceil((entry.at - this.#from) / this.#stepS) - 1;
    if (index < 0 || index >= seriesPoints) return;
    for (const [gpu, sample] of entry.gpus) {
      const series = this.#gpus.get(gpu) ?? {
        utilizationPercent: [],
        memoryUsedMiB: [],
        temperatureC: [],
        powerW: [],
      };
      this.#gpus.set(gpu, series);
      for (const each of names) addTo(series[each], index, each, sample, entry);
    }
  }

  /** Returns the series, without the last GPUs if the answer would be too long. */
  end(): SeriesAnswer {
    const all = [...this.#gpus].map(([gpu, series]): GpuSeries => ({
      gpu,
      utilizationPercent: pointsOf(series.utilizationPercent, 0),
      memoryUsedMiB: pointsOf(series.memoryUsedMiB, 0),
      temperatureC: pointsOf(series.temperatureC, 0),
      powerW: pointsOf(series.powerW, 0),
    }));
    const answer = (count: number): SeriesAnswer => ({
      schema: 1,
      from: isoOf(this.#from),
      stepS: this.#stepS,
      gpus: all.slice(0, count),
      omitted: all.length - count,
    });
    let count = all.length;
    while (count > 0 && Buffer.byteLength(JSON.stringify(answer(count))) > longestSeries) count -= 1;
    return answer(count);
  }
}

function addTo(
  points: (Point | undefined)[],
  index: number,
  name: Values,
  sample: GpuSample,
  { spanS }: SampleEntry,
): void {
  const { name: source, isPeak } = sources[name];
  const value = sample[source];
  if (value === undefined) return;
  const point = (points[index] ??= { sum: isPeak ? value : 0, weight: isPeak ? 1 : 0 });
  if (isPeak) point.sum = Math.max(point.sum, value);
  else {
    point.sum += value * spanS;
    point.weight += spanS;
  }
}

function pointsOf(points: readonly (Point | undefined)[], digits: number): readonly (number | null)[] {
  return Array.from({ length: seriesPoints }, (_, index) => {
    const point = points[index];
    return point === undefined ? null : Number((point.sum / point.weight).toFixed(digits));
  });
}
