import { z } from 'zod';

import type { RunRecord } from './runs.ts';
import type { ManagerStatus } from './status.ts';

const text = z.string();
const texts = z.array(text);

/** Work on the image that somebody asked for, and the image itself. */
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

/** States are names that a newer manager may have more of; what readers choose by is fixed. Other keys stay. */
const status = z.looseObject({
  schema: z.literal(1),
  version: text,
  protocol: z.number().optional(),
  node: text.optional(),
  at: text,
  host: text,
  pool: z.looseObject({ name: text, id: z.number().optional() }),
  pools: z.array(z.looseObject({ name: text, id: z.number().optional(), up: z.boolean() })).optional(),
  configHash: text,
  started: z.looseObject({ program: text, unit: text.optional(), ca: text.optional() }).optional(),
  image: z.looseObject({
    ...image,
    asked: z.looseObject({ at: text, state: text, ...work }).optional(),
  }),
  images: z.array(z.looseObject({ ...image, slots: texts })).optional(),
  archives: z.array(z.looseObject({ archive: text, sha256: text, at: text })).optional(),
  owner: text.optional(),
  drained: z.boolean(),
  drains: z
    .array(
      z.looseObject({
        reason: text,
        at: text,
        owner: text.optional(),
        run: text.optional(),
        slot: text.optional(),
      }),
    )
    .optional(),
  idle: z
    .looseObject({
      afterS: z.number(),
      run: text,
      idleS: z.number(),
      stays: z.looseObject({ what: text, next: text }).optional(),
      ending: z.boolean().optional(),
    })
    .optional(),
  slots: z.array(
    z.looseObject({
      slot: text,
      agent: text,
      agentId: z.number().optional(),
      pool: text.optional(),
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
    cudaVersion: text.optional(),
    gpus: z.array(z.looseObject({ uuid: text, name: text, computeCapability: text.optional() })).optional(),
    findings: z.array(
      z.looseObject({
        code: text,
        gpu: text.optional(),
        severity: z.enum(['info', 'warn', 'fail']),
        what: text,
        next: text,
      }),
    ),
  }),
  problems: z.array(z.looseObject({ code: text, what: text, next: text })),
});

const runs = z.array(
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
    cause: z.looseObject({ code: text, what: text, next: text }).optional(),
    diagnostics: z.boolean().optional(),
    unfinished: z.looseObject({ job: text, until: text.optional() }).optional(),
    log: texts,
  }),
);

/** What a manager said of itself, as its types promise; undefined when it is something else. */
export function readStatus(value: unknown): ManagerStatus | undefined {
  return status.safeParse(value).data as ManagerStatus | undefined;
}

export function readRuns(value: unknown): readonly RunRecord[] | undefined {
  return runs.safeParse(value).data as readonly RunRecord[] | undefined;
}
