import * as z from 'zod';

import { defined } from '../base/objects.ts';
import type { Drain } from './drain.ts';
import { type RunUse, runUseSchema } from './history.ts';
import type { IdleStatus } from './idle.ts';

/** /run/azp-fleet/status.json (0600) and GET /v1/status on the control socket. */
export interface ManagerStatus {
  readonly schema: 1;
  readonly version: string;
  /** See `release.ts`. */
  readonly protocol: number;
  /** Version of Node. */
  readonly node: string;
  /** ISO 8601; at most 30 s old while the manager runs. */
  readonly at: string;
  readonly host: string;
  /** The first pool. */
  readonly pool: { readonly name: string; readonly id?: number };
  /** All pools. */
  readonly pools: readonly PoolStatus[];
  readonly configHash: string;
  readonly started: StartedWith;
  /** The first image. */
  readonly image: ImageStatus & {
    /** The last requested build or pull; `at` (ISO 8601) identifies it. */
    readonly asked?: {
      readonly at: string;
      readonly state: 'running' | 'done' | 'failed';
      readonly cause?: string;
      readonly output?: readonly string[];
    };
  };
  /** All images, at least one. */
  readonly images: readonly (ImageStatus & {
    /** The slots that run it. */
    readonly slots: readonly string[];
  })[];
  /** Archives of the agent without a digest known in advance: later downloads must match the first (hex); `at` is ISO 8601. */
  readonly archives?: readonly { readonly archive: string; readonly sha256: string; readonly at: string }[];
  /** Its owner id, which its agents have in their capabilities. */
  readonly owner?: string;
  /** The whole host is drained. */
  readonly drained: boolean;
  /** All drains, by priority. */
  readonly drains: readonly Drain[];
  /** When the unused machine powers off; absent: never. */
  readonly idle?: IdleStatus;
  /** The connection test to the organization's server; absent: off, or the manager is of an earlier version. */
  readonly connection?: ConnectionStatus;
  /** The token that the server accepts; absent: the manager is of an earlier version. */
  readonly token?: TokenStatus;
  readonly slots: readonly SlotStatus[];
  readonly health: HostHealth;
  /** Problems that stop everything, with the next action: a bad credential, no Docker, … */
  readonly problems: readonly {
    readonly code: string;
    readonly what: string;
    readonly next: string;
    /** As of a finding. */
    readonly since?: string;
  }[];
}

/** All times are ISO 8601. */
export interface ConnectionStatus {
  /** Host and port. */
  readonly to: string;
  /** End of the last test; absent: none has ended. */
  readonly checkedAt?: string;
  /** Start of the first of at least two failed tests in a row; absent: it connects. */
  readonly failingSince?: string;
  /** Why the last test failed; absent: it succeeded. */
  readonly why?: string;
}

export interface TokenStatus {
  /** `sha256(MACHINE-ID:TOKEN)` of the token, or client secret, that the server accepted last; absent: none since the start. */
  readonly accepted?: string;
  /** ISO 8601: when the server accepted it for the first time. */
  readonly since?: string;
}

/** The files that a manager was started with; the files on the disk may be newer. */
export interface StartedWith {
  /** Program folder: `/opt/azp-fleet/versions/ID`. */
  readonly program: string;
  /** The digest in the text of the unit that started it. */
  readonly unit?: string;
  /** sha256 of the file of the site's certificate authority. */
  readonly ca?: string;
}

export interface PoolStatus {
  readonly name: string;
  readonly id?: number;
  /** The pool exists, and the server answers. */
  readonly up: boolean;
  /** ISO 8601: when its agents were last read; absent: never, or the manager is of an earlier version. */
  readonly at?: string;
}

export interface ImageStatus {
  readonly state: 'missing' | 'pulling' | 'building' | 'ready' | 'failed';
  readonly reference?: string;
  readonly digest?: string;
  /** Id of the image on which agents have listened last, if that is another one. */
  readonly previous?: string;
  /** Id of the agent image that a team's folder was built on. */
  readonly under?: string;
  /** Reference that it was pushed to, with its digest there. */
  readonly pushed?: string;
  /** The last step of a running pull or build. */
  readonly progress?: string;
  /** The reason of a failure. */
  readonly cause?: string;
  /** The last output lines of the failed build step. */
  readonly output?: readonly string[];
}

/** Returns the names of its agents' pools, each once. */
export function poolsInUse({ slots }: ManagerStatus): string[] {
  return [...new Set(slots.map(({ pool }) => pool))];
}

/** Returns slots that may have a job, or may still get one. */
export function occupied({ slots }: ManagerStatus): readonly SlotStatus[] {
  return slots.filter(({ state }) => ['starting', 'idle', 'busy', 'stopping'].includes(state));
}

/** Returns its agents in a pool, and their owner id. */
export function agentsOf(
  { slots, owner }: ManagerStatus,
  poolName: string,
): { readonly names: readonly string[]; readonly owner?: string } {
  const names = slots.flatMap(({ agent, pool }) => (pool === poolName ? [agent] : []));
  return { names, ...defined({ owner }) };
}

/** Returns the image with the worst state: failed before in progress, and that before ready. */
export function imageOverall(status: ManagerStatus): ImageStatus {
  const { image, images: all } = status;
  return all.find(({ state }) => state === 'failed') ?? all.find(({ state }) => state !== 'ready') ?? image;
}

export interface SlotStatus {
  readonly slot: string;
  readonly agent: string;
  readonly agentId?: number;
  /** Name of the agent's pool. */
  readonly pool: string;
  /** Reference of the image that its new containers run. */
  readonly image?: string;
  readonly state:
    | 'starting'
    | 'idle'
    | 'busy'
    | 'stopping'
    | 'backing-off'
    | 'drained'
    | 'quarantined'
    | 'waiting';
  /** GPU UUIDs. */
  readonly gpus: readonly string[];
  /** What a run may use of the machine. */
  readonly share?: {
    /** Absent: no limit. */
    readonly memoryMiB?: number;
    /** Relative to the other slots; an equal part is 1024. */
    readonly cpuShares: number;
  };
  readonly container?: string;
  readonly job?: string;
  /** ISO 8601; start of the job by the agent's timestamp. */
  readonly jobSince?: string;
  /** ISO 8601; the last change of state. */
  readonly since: string;
  /** The run in its container; absent: no container. */
  readonly run?: {
    readonly id: string;
    /** ISO 8601 */
    readonly startedAt: string;
    /** Id of its entry in the pool. */
    readonly agentId?: number;
    /** Digest of its settings: the configuration for runs of this slot, and the image. */
    readonly settings: string;
  };
  /**
   * The same digest for a run created now; absent while it is not known. It differs from the run's digest when the run is
   * from before a change.
   */
  readonly settings?: string;
  /**
   * ISO 8601; since when no agent with the current settings has listened or run a job here. Absent while one does, and
   * while the slot must not work.
   */
  readonly awaySince?: string;
  readonly cause?: string;
  /** Stable name of the cause. */
  readonly code?: string;
  readonly next?: string;
  readonly jobsRun: number;
}

/** What nvidia-smi reported of a GPU; a value that it did not report is absent, as are all of a manager of an earlier version. */
export interface GpuStatus {
  readonly uuid: string;
  readonly name: string;
  readonly computeCapability?: string;
  /** `Default`, `Exclusive_Process`, … */
  readonly computeMode?: string;
  readonly temperatureC?: number;
  readonly memoryUsedMiB?: number;
  readonly memoryTotalMiB?: number;
  readonly utilizationPercent?: number;
  readonly powerW?: number;
  /** Heat or the power brake slows it down. */
  readonly throttled?: boolean;
  /** Its MIG devices; absent: none. */
  readonly mig?: readonly {
    readonly uuid: string;
    readonly profile?: string;
    readonly memoryUsedMiB?: number;
    readonly memoryTotalMiB?: number;
  }[];
}

export interface HostHealth {
  readonly state: 'healthy' | 'degraded' | 'failed' | 'hung' | 'unknown';
  readonly checkedAt?: string;
  /** Absent: the manager is of an earlier version, or nvidia-smi does not answer. */
  readonly driverVersion?: string;
  /** The highest CUDA version of the driver. */
  readonly cudaVersion?: string;
  /** The GPUs of nvidia-smi, in its order. */
  readonly gpus?: readonly GpuStatus[];
  readonly findings: readonly {
    readonly code: string;
    readonly gpu?: string;
    readonly severity: 'info' | 'warn' | 'fail';
    readonly what: string;
    readonly next: string;
    /** ISO 8601; since when without a break, at most since the manager's start. Absent: a manager of an earlier version. */
    readonly since?: string;
  }[];
}

const text = z.string();
const texts = z.array(text);

/** Members of requested work on an image, and of the image itself. */
const work = { cause: text.optional(), output: texts.optional() };
const image = {
  state: text,
  reference: text.optional(),
  digest: text.optional(),
  under: text.optional(),
  pushed: text.optional(),
  progress: text.optional(),
  ...work,
};

const number = z.number().optional();
const memory = { memoryUsedMiB: number, memoryTotalMiB: number };
const gpu = z.looseObject({
  uuid: text,
  name: text,
  computeCapability: text.optional(),
  computeMode: text.optional(),
  temperatureC: number,
  ...memory,
  utilizationPercent: number,
  powerW: number,
  throttled: z.boolean().optional(),
  mig: z.array(z.looseObject({ uuid: text, profile: text.optional(), ...memory })).optional(),
});

/** A newer manager may have more states, so states are any text; values that readers branch on are fixed. Unknown keys stay. */
export const statusSchema = z.looseObject({
  schema: z.literal(1),
  version: text,
  protocol: z.number(),
  node: text,
  at: text,
  host: text,
  pool: z.looseObject({ name: text, id: z.number().optional() }),
  pools: z.array(
    z.looseObject({ name: text, id: z.number().optional(), up: z.boolean(), at: text.optional() }),
  ),
  configHash: text,
  started: z.looseObject({ program: text, unit: text.optional(), ca: text.optional() }),
  image: z.looseObject({
    ...image,
    asked: z.looseObject({ at: text, state: text, ...work }).optional(),
  }),
  images: z.array(z.looseObject({ ...image, slots: texts })).min(1),
  archives: z.array(z.looseObject({ archive: text, sha256: text, at: text })).optional(),
  owner: text.optional(),
  drained: z.boolean(),
  drains: z.array(
    z.looseObject({
      reason: text,
      at: text,
      owner: text.optional(),
      run: text.optional(),
      command: text.optional(),
      until: text.optional(),
      slot: text.optional(),
    }),
  ),
  idle: z
    .looseObject({
      afterS: z.number(),
      run: text,
      idleS: z.number(),
      stays: z.looseObject({ what: text, next: text }).optional(),
      ending: z.boolean().optional(),
    })
    .optional(),
  connection: z
    .looseObject({
      to: text,
      checkedAt: text.optional(),
      failingSince: text.optional(),
      why: text.optional(),
    })
    .optional(),
  token: z.looseObject({ accepted: text.optional(), since: text.optional() }).optional(),
  slots: z.array(
    z.looseObject({
      slot: text,
      agent: text,
      agentId: z.number().optional(),
      pool: text,
      image: text.optional(),
      state: text,
      gpus: texts,
      share: z.looseObject({ memoryMiB: z.number().optional(), cpuShares: z.number() }).optional(),
      container: text.optional(),
      job: text.optional(),
      jobSince: text.optional(),
      since: text,
      run: z
        .looseObject({ id: text, startedAt: text, agentId: z.number().optional(), settings: text })
        .optional(),
      settings: text.optional(),
      awaySince: text.optional(),
      cause: text.optional(),
      code: text.optional(),
      next: text.optional(),
      jobsRun: z.number(),
    }),
  ),
  health: z.looseObject({
    state: z.enum(['healthy', 'degraded', 'failed', 'hung', 'unknown']),
    checkedAt: text.optional(),
    driverVersion: text.optional(),
    cudaVersion: text.optional(),
    gpus: z.array(gpu).optional(),
    findings: z.array(
      z.looseObject({
        code: text,
        gpu: text.optional(),
        severity: z.enum(['info', 'warn', 'fail']),
        what: text,
        next: text,
        since: text.optional(),
      }),
    ),
  }),
  problems: z.array(z.looseObject({ code: text, what: text, next: text, since: text.optional() })),
});

export const runsSchema = z.array(
  z.looseObject({
    schema: z.literal(1),
    run: text,
    slot: text,
    agent: text,
    image: text,
    gpus: texts,
    startedAt: text.optional(),
    finishedAt: text,
    waitedS: z.number().optional(),
    durationS: z.number().optional(),
    exitCode: z.number().optional(),
    oomKilled: z.boolean(),
    job: text.optional(),
    result: text.optional(),
    cause: z.looseObject({ code: text, what: text, next: text, severity: text.optional() }).optional(),
    diagnostics: z.boolean().optional(),
    unfinished: z.looseObject({ job: text, until: text.optional() }).optional(),
    use: runUseSchema.optional(),
    log: texts,
  }),
);

/** Parses a manager's status; undefined: not a status. */
export function readStatus(value: unknown): ManagerStatus | undefined {
  return statusSchema.safeParse(value).data as ManagerStatus | undefined;
}

export function readRuns(value: unknown): readonly RunRecord[] | undefined {
  return runsSchema.safeParse(value).data as readonly RunRecord[] | undefined;
}

/** The record of one run, kept after its container is removed. /var/lib/azp-fleet/runs/SLOT/RUN.json, GET /v1/runs. */
export interface RunRecord {
  readonly schema: 1;
  readonly run: string;
  readonly slot: string;
  /** Number of the run on this host, from 1; it sorts runs even after a clock change. Absent: written by an earlier version. */
  readonly sequence?: number;
  readonly agent: string;
  readonly image: string;
  readonly gpus: readonly string[];
  /** ISO 8601; absent when the container never started. */
  readonly startedAt?: string;
  readonly finishedAt: string;
  /** Seconds from the start of the agent to its job, or to its end without one. Absent: written by an earlier version. */
  readonly waitedS?: number;
  /** Seconds of the job by the agent's timestamps; absent without a job. Earlier versions: the whole run of the agent. */
  readonly durationS?: number;
  readonly exitCode?: number;
  readonly oomKilled: boolean;
  readonly job?: string;
  /** succeeded, succeededwithissues, failed, canceled, … */
  readonly result?: string;
  /**
   * The reason why no job ran, or why the job failed if that is visible from outside. `info`: the job did not fail by it.
   */
  readonly cause?: {
    readonly code: string;
    readonly what: string;
    readonly next: string;
    readonly severity?: 'info';
  };
  /** Absent: it had no job or no GPU, or the manager was of an earlier version. */
  readonly use?: RunUse;
  /** The server still showed a job on this agent after its end; `until`: when the server abandons it, ISO 8601. */
  readonly unfinished?: { readonly job: string; readonly until?: string };
  /** The agent's own logs of this run are kept: GET /v1/diagnostics. */
  readonly diagnostics?: boolean;
  /** The last lines of the agent's output. */
  readonly log: readonly string[];
}
