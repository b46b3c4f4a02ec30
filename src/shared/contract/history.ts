import * as z from 'zod';

/** GPU use of a run, from one check of the GPUs every 20 s: all values are sampled. */
export interface RunUse {
  /** Number of checks during its job. With fewer than three, the other values are absent. */
  readonly samples: number;
  /** Seconds of the job that the checks stand for. */
  readonly sampledS: number;
  /** Seconds with a utilization above 0, of all its GPUs together. */
  readonly gpuS?: number;
  /** The most memory in use on its GPUs together. */
  readonly peakMemoryMiB?: number;
  readonly meanUtilizationPercent?: number;
  /** Seconds in which heat or power slowed one of its GPUs down. */
  readonly throttledS?: number;
  /** Integral of the power of its GPUs. */
  readonly energyWh?: number;
}

/** An ended run in the history. */
export interface RunEvent {
  readonly id: string;
  readonly job?: string;
  readonly result?: string;
  /** Code of its cause. */
  readonly cause?: string;
  /** True if it did not do its work. */
  readonly failed: boolean;
  /** ISO 8601 */
  readonly startedAt?: string;
  /** Seconds of the job. */
  readonly durationS?: number;
  /** UUIDs. */
  readonly gpus: readonly string[];
  readonly use?: RunUse;
}

/** The kinds of events; a newer manager may have more. */
export type EventKind =
  | 'verdict'
  | 'driver'
  | 'image'
  | 'config'
  | 'manager'
  | 'reboot'
  | 'quarantine'
  | 'drain'
  | 'run'
  | 'lost';

/** One event in the history of a host. */
export interface HistoryEvent<Kind extends string = string> {
  /** ISO 8601 */
  readonly at: string;
  readonly kind: Kind;
  /** One line. */
  readonly what: string;
  /** `user@machine`; absent: not a person, or not known. */
  readonly who?: string;
  readonly slot?: string;
  readonly run?: RunEvent;
}

/** What a host did in some days. */
export interface HistorySummary {
  /** ISO 8601: the start of the time that it covers, at most seven days ago. */
  readonly since: string;
  readonly jobs: number;
  readonly failures: readonly { readonly cause: string; readonly count: number }[];
  /** Hours with a job, by GPU (UUID). */
  readonly busy: readonly { readonly gpu: string; readonly hours: number }[];
}

/** The answer to `GET /v1/history?since=…&limit=…`. */
export interface HistoryAnswer {
  readonly schema: 1;
  /** Newest last. */
  readonly events: readonly HistoryEvent[];
  /** Older events of the requested time that `limit` cuts off. */
  readonly omitted: number;
  readonly summary: HistorySummary;
}

/** Values of a GPU at equal distances; null: not known. */
export interface GpuSeries {
  readonly gpu: string;
  readonly utilizationPercent: readonly (number | null)[];
  readonly memoryUsedMiB: readonly (number | null)[];
  readonly temperatureC: readonly (number | null)[];
  readonly powerW: readonly (number | null)[];
}

/** The answer to `GET /v1/series?hours=…`, at most `longestSeries`. */
export interface SeriesAnswer {
  readonly schema: 1;
  /** ISO 8601: start of the first point. */
  readonly from: string;
  /** Seconds of each point. */
  readonly stepS: number;
  readonly gpus: readonly GpuSeries[];
  /** Number of GPUs that are left out, for the size of the answer. */
  readonly omitted: number;
}

/** Points of each series. */
export const seriesPoints = 96;

/** Bytes of an answer with series. */
export const longestSeries = 64 * 1024;

const text = z.string();
const number = z.number().optional();

export const runUseSchema = z.looseObject({
  samples: z.number(),
  sampledS: z.number(),
  gpuS: number,
  peakMemoryMiB: number,
  meanUtilizationPercent: number,
  throttledS: number,
  energyWh: number,
});

export const historySchema = z.looseObject({
  schema: z.literal(1),
  events: z.array(
    z.looseObject({
      at: text,
      kind: text,
      what: text,
      who: text.optional(),
      slot: text.optional(),
      run: z
        .looseObject({
          id: text,
          job: text.optional(),
          result: text.optional(),
          cause: text.optional(),
          failed: z.boolean(),
          startedAt: text.optional(),
          durationS: number,
          gpus: z.array(text),
          use: runUseSchema.optional(),
        })
        .optional(),
    }),
  ),
  omitted: z.number(),
  summary: z.looseObject({
    since: text,
    jobs: z.number(),
    failures: z.array(z.looseObject({ cause: text, count: z.number() })),
    busy: z.array(z.looseObject({ gpu: text, hours: z.number() })),
  }),
});

const points = z.array(z.union([z.number(), z.null()])).max(1000);

const seriesSchema = z.looseObject({
  schema: z.literal(1),
  from: text,
  stepS: z.number(),
  gpus: z.array(
    z.looseObject({
      gpu: text,
      utilizationPercent: points,
      memoryUsedMiB: points,
      temperatureC: points,
      powerW: points,
    }),
  ),
  omitted: z.number(),
});

/** Parses a manager's history; undefined: not one. */
export function readHistory(value: unknown): HistoryAnswer | undefined {
  return historySchema.safeParse(value).data as HistoryAnswer | undefined;
}

/** Parses a manager's series; undefined: not one. */
export function readSeries(value: unknown): SeriesAnswer | undefined {
  return seriesSchema.safeParse(value).data;
}
