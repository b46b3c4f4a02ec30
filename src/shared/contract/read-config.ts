import { z } from 'zod';

import type { ManagerConfig } from './config.ts';
import type { SlotSpec } from './slots.ts';

/** Characters of the whole file that are looked at; ours have some thousands. */
const longest = 192 * 1024;
/** Far above what a host has. */
const most = { slots: 512, gpus: 512, datasets: 512, names: 1024 };

const text = z.string();
const flag = z.boolean();
const count = z.number().int().min(0);
const limits = z.object({
  memory: text.exactOptional(),
  cpus: z.number().exactOptional(),
  shm: text.exactOptional(),
  pids: z.number().exactOptional(),
  disk: text.exactOptional(),
});
const capabilities = z.array(z.enum(['compute', 'utility', 'graphics', 'video', 'display'])).max(16);
const slot = z.object({
  name: text.exactOptional(),
  gpus: z.array(z.union([text, count])).max(most.gpus),
  share: flag,
  limits,
  capabilities,
  mode: z.enum(['container', 'host']),
  pool: text.exactOptional(),
  image: text.exactOptional(),
} satisfies Record<keyof SlotSpec, z.ZodType>);

const image = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('registry'), reference: text, builtBy: text.exactOptional() }),
  z.object({
    kind: z.literal('build'),
    base: text.exactOptional(),
    registry: text.exactOptional(),
    aptMirror: text.exactOptional(),
    agentVersion: text,
    agentSha256: text,
    agentUrl: text,
    top: z.object({ name: text, folder: text, push: text.exactOptional() }).exactOptional(),
  }),
]);

/** Each key by itself: one that another release means otherwise takes no other with it. */
const keys = {
  schema: z.literal(1),
  host: text,
  organization: text,
  credential: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('pat') }),
    z.object({
      kind: z.literal('service-principal'),
      clientId: text,
      tenantId: text,
      authority: text.exactOptional(),
    }),
  ]),
  pool: text,
  agents: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('one-per-gpu') }),
    z.object({ kind: z.literal('count'), count: count.max(most.slots) }),
    z.object({ kind: z.literal('slots'), slots: z.array(slot).max(most.slots) }),
  ]),
  share: flag,
  gpus: count.max(most.gpus),
  ignoredGpus: z.array(text).max(most.gpus),
  agentName: text,
  limits,
  driverCapabilities: capabilities,
  image,
  datasets: z
    .array(z.object({ name: text, host: text, container: text, requireMount: flag }))
    .max(most.datasets),
  jobs: z.object({ sudo: flag, docker: flag }),
  fence: z.literal('required'),
  registration: z.enum(['rest', 'config']),
  capabilities: z.record(text, text),
  proxy: z.object({
    http: text.exactOptional(),
    https: text.exactOptional(),
    noProxy: z.array(text).max(most.names),
    ca: flag,
    caSha256: text.exactOptional(),
  }),
  webhook: z.object({ offlineS: count, queueWaitS: count }),
  idle: z.object({ afterS: count, run: text }),
  metricsPort: count,
} satisfies Record<keyof ManagerConfig, z.ZodType>;

/** A manager.json as it lies on a host, of whichever release, or changed by hand. */
export interface StoredConfig {
  /** The keys that mean something to this release. */
  readonly config: Partial<ManagerConfig>;
  /** Paths of what does not: `tenants`, `limits.gpu`, `agents.slots.0.nice`. */
  readonly unknown: readonly string[];
}

/** Undefined: it is no JSON object, or of unbelievable length. */
export function readConfig(json: string): StoredConfig | undefined {
  const value = json.length > longest ? undefined : parsed(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const known = Object.entries(value).flatMap(([key, each]) => {
    const result = isConfigKey(key) ? keys[key].safeParse(each) : undefined;
    return result?.success === true ? [[key, result.data] as const] : [];
  });
  const config = Object.fromEntries(known);
  return { config, unknown: missingIn(config, value, '').slice(0, most.names) };
}

export function isConfigKey(key: string): key is keyof ManagerConfig {
  return Object.hasOwn(keys, key);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Paths of what the second value has and the first has not. */
function missingIn(kept: unknown, given: unknown, path: string): string[] {
  if (typeof given !== 'object' || given === null || typeof kept !== 'object' || kept === null) return [];
  return Object.entries(given).flatMap(([key, value]) => {
    const here = path === '' ? key : `${path}.${key}`;
    return Object.hasOwn(kept, key) ? missingIn((kept as Record<string, unknown>)[key], value, here) : [here];
  });
}
