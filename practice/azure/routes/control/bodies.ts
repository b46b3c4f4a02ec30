import { z } from 'zod';
import type { FakeCall, Reply } from '../../http/reply.ts';

export const bad = (message: string): Reply => ({ status: 400, json: { message } });

const natural = z.int().nonnegative();
const some = z.int().positive();
const text = z.string().min(1);

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** What may be sent to the switchboard; a member that is not here is refused, since it would be a misspelt one. */
export const bodies = {
  jobs: z.strictObject({
    pool: text,
    project: text.exactOptional(),
    name: text.exactOptional(),
    count: some.max(10_000).exactOptional(),
    demands: z.array(text).exactOptional(),
    script: z.string().exactOptional(),
    seconds: z.number().nonnegative().exactOptional(),
    environment: z.record(z.string(), z.string()).exactOptional(),
    secrets: z.record(z.string(), z.string()).exactOptional(),
    container: z
      .strictObject({
        image: text,
        options: z.string().exactOptional(),
        localimage: z.boolean().exactOptional(),
        mapDockerSocket: z.boolean().exactOptional(),
      })
      .exactOptional(),
    planVersion: some.exactOptional(),
  }),
  /** Not more than the largest fleet that somebody would try, and little enough for a server's memory. */
  agents: z.strictObject({
    pool: text,
    count: some.max(100_000),
    namePattern: z.string().includes('{n}').exactOptional(),
  }),
  fault: z.strictObject({
    count: some,
    status: z.int().min(200).max(599).exactOptional(),
    deactivated: z.boolean().exactOptional(),
    retryAfterS: natural.exactOptional(),
    delayMs: natural.exactOptional(),
    drop: z.enum(['before', 'after']).exactOptional(),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).exactOptional(),
    path: z.string().refine(isPattern, 'not a regular expression').exactOptional(),
    callers: z.enum(['clients', 'agents', 'all']).exactOptional(),
  }),
  token: z.strictObject({ state: z.enum(['valid', 'expired', 'revoked']) }),
  denied: z.strictObject({
    permissions: z.array(z.enum(['pools.create', 'pools.manage', 'queues.create', 'queues.authorize'])),
  }),
  pipeline: z.strictObject({ id: some, title: z.string(), project: z.string(), pool: z.string() }),
  filters: z.strictObject({ demands: z.boolean() }),
  settle: z.strictObject({ ms: natural }),
  limits: z.strictObject({ parallelJobs: natural.nullable() }),
} as const;

/** Hands the body on where it is what the schema says, and says where it is not otherwise. */
export function withBody<T>(
  schema: z.ZodType<T>,
  use: (call: FakeCall, body: T) => Reply,
): (call: FakeCall) => Reply {
  return (call) => {
    const { success, data, error } = schema.safeParse(json(call.text));
    return success ? use(call, data) : bad(error.issues.map(lineOf).join('; '));
  };
}

function json(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

function lineOf({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}
