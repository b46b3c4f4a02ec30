import { foreignJson, foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { defined, isObject } from '../../shared/base/objects.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import type { EventKind, HistoryEvent, RunEvent } from '../../shared/contract/history.ts';

/** Values of one GPU; one that nvidia-smi did not report is absent. */
export interface GpuSample {
  readonly utilizationPercent?: number;
  readonly memoryMiB?: number;
  readonly temperatureC?: number;
  readonly powerW?: number;
  /** Part of the time in which heat or power slowed it down, 0 to 1. */
  readonly throttled?: number;
}

/** Values of all GPUs over some time. */
export interface SampleEntry {
  readonly kind: 'sample';
  /** Its end, seconds since the epoch. */
  readonly at: number;
  /** Seconds that it stands for. */
  readonly spanS: number;
  /** By UUID. */
  readonly gpus: ReadonlyMap<string, GpuSample>;
}

/** A fact that retention never drops: of each key the last one counts. The value '' removes the key. */
export interface KeptEntry {
  readonly kind: 'kept';
  readonly at: number;
  readonly key: string;
  readonly value: string | number;
}

export interface EventEntry {
  readonly kind: 'event';
  readonly at: number;
  readonly event: NewEvent;
}

/** An event without its time. */
export type NewEvent = Omit<HistoryEvent<EventKind>, 'at'>;

/** An entry of a newer version. */
interface OtherEntry {
  readonly kind: 'other';
  readonly at: number;
}

export type Entry = SampleEntry | KeptEntry | EventEntry | OtherEntry;

/** More GPUs than a host has. */
const mostGpus = 64;
/** Characters of a text in an event. */
const longestText = 300;
const longestKey = 200;

/** Returns the entry as one line of the file, without its line break; at most `readerBounds.historyLine`. Pure. */
export function encode(entry: Exclude<Entry, OtherEntry>): string {
  const { at: t } = entry;
  if (entry.kind === 'kept')
    return JSON.stringify({ t, k: bounded(entry.key, longestKey), v: boundedValue(entry.value) });
  if (entry.kind === 'sample') {
    const gpus = [...entry.gpus].slice(0, mostGpus).map(([gpu, sample]) => [bounded(gpu, 60), cells(sample)]);
    return JSON.stringify({ t, d: entry.spanS, g: Object.fromEntries(gpus) });
  }
  const { run, ...event } = entry.event;
  const shortRun = run && { ...run, gpus: run.gpus.slice(0, mostGpus).map((gpu) => bounded(gpu, 60)) };
  return JSON.stringify({ t, e: { ...bounds(event), ...defined({ run: shortRun && bounds(shortRun) }) } });
}

function bounds<T extends object>(value: T): T {
  return foreignValue(value, (said) => bounded(said, longestText));
}

function bounded(said: string, limit: number): string {
  return foreignLine(said, limit);
}

function boundedValue(value: string | number): string | number {
  return typeof value === 'string' ? bounded(value, longestText) : value;
}

/** Returns the values in their order, without the absent ones at the end. */
function cells(sample: GpuSample): readonly (number | null)[] {
  const { utilizationPercent: u, memoryMiB: m, temperatureC: c, powerW: w, throttled: x } = sample;
  const all = [u, m, c, w, x].map((value) => (value === undefined ? null : Math.round(value * 100) / 100));
  return all.slice(0, all.findLastIndex((value) => value !== null) + 1);
}

/** Returns the entry of a line; undefined: it is torn, too long, or another program wrote it. Pure. */
export function decode(line: string): Entry | undefined {
  if (!line.startsWith('{') || line.length > readerBounds.historyLine.bytes) return undefined;
  const value = foreignJson(line);
  if (!isObject(value) || !isNumber(value['t'])) return undefined;
  const { t: at, k: key, v, d: spanS, g, e } = value;
  if (typeof key === 'string' && (typeof v === 'string' || isNumber(v)))
    return { kind: 'kept', at, key: bounded(key, longestKey), value: boundedValue(v) };
  if (isObject(g) && isNumber(spanS) && spanS > 0) return { kind: 'sample', at, spanS, gpus: samplesOf(g) };
  const event = isObject(e) ? eventOf(e) : undefined;
  return event === undefined ? { kind: 'other', at } : { kind: 'event', at, event };
}

function samplesOf(value: Readonly<Record<string, unknown>>): ReadonlyMap<string, GpuSample> {
  const all = Object.entries(value).slice(0, mostGpus);
  return new Map(
    all.flatMap(([gpu, cells]) => (Array.isArray(cells) ? [[bounded(gpu, 60), sampleOf(cells)]] : [])),
  );
}

function sampleOf(cells: readonly unknown[]): GpuSample {
  const [utilizationPercent, memoryMiB, temperatureC, powerW, throttled] = cells.map((cell) =>
    isNumber(cell) ? cell : undefined,
  );
  return defined({ utilizationPercent, memoryMiB, temperatureC, powerW, throttled });
}

function eventOf(value: Readonly<Record<string, unknown>>): NewEvent | undefined {
  const { kind, what, who, slot, run } = bounds(value);
  if (typeof kind !== 'string' || typeof what !== 'string') return undefined;
  // A newer manager may have more kinds: they are shown as they are.
  const known = { kind: kind as EventKind, what };
  return {
    ...known,
    ...defined({ who: textOf(who), slot: textOf(slot), run: isObject(run) ? runOf(run) : undefined }),
  };
}

function runOf(run: Readonly<Record<string, unknown>>): RunEvent | undefined {
  const { id, job, result, cause, failed, startedAt, durationS, gpus, use } = run;
  if (typeof id !== 'string') return undefined;
  return {
    id,
    failed: failed === true,
    gpus: Array.isArray(gpus) ? gpus.filter((gpu) => typeof gpu === 'string').slice(0, mostGpus) : [],
    ...defined({
      job: textOf(job),
      result: textOf(result),
      cause: textOf(cause),
      startedAt: textOf(startedAt),
      durationS: isNumber(durationS) ? durationS : undefined,
      use: isObject(use) ? useOf(use) : undefined,
    }),
  };
}

function useOf(use: Readonly<Record<string, unknown>>): RunEvent['use'] {
  const numbers = Object.fromEntries(Object.entries(use).filter(([, value]) => isNumber(value)));
  const { samples, sampledS, gpuS, peakMemoryMiB, meanUtilizationPercent, throttledS, energyWh } =
    numbers as Readonly<Record<string, number>>;
  if (samples === undefined || sampledS === undefined) return undefined;
  return {
    samples,
    sampledS,
    ...defined({ gpuS, peakMemoryMiB, meanUtilizationPercent, throttledS, energyWh }),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
