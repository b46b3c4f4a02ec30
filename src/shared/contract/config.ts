import * as z from 'zod';

import type { IdleConfig } from './idle.ts';
import type { Agents, DriverCapabilities, SlotLimits, SlotSpec } from './slots.ts';

/** /etc/azp-fleet/manager.json: the manager's configuration, written by the CLI. It contains no secret. Readers ignore unknown keys. */
export interface ManagerConfig {
  /** 2: with a login that release 0.2.0 does not know. It would send what is stored for it as a client secret, and refuses 2. */
  readonly schema: 1 | 2;
  /** Inventory name of the host. */
  readonly host: string;
  readonly organization: string;
  readonly credential:
    | { readonly kind: 'pat' }
    | {
        readonly kind: 'service-principal';
        readonly clientId: string;
        readonly tenantId: string;
        /** Undefined: Microsoft's public cloud. */
        readonly authority?: string;
        /** The stored secret is a certificate with its key, or there is none; undefined: a client secret. */
        readonly proof?: 'certificate' | 'federation';
        /** With `federation`: file of the host whose assertion is read for each token. */
        readonly tokenFile?: string;
      }
    | {
        /** The identity of the machine. */
        readonly kind: 'managed-identity';
        readonly clientId?: string;
        /** Azure Arc's; undefined: an Azure VM's. */
        readonly arc?: true;
      };
  readonly pool: string;
  readonly agents: Agents;
  readonly share: boolean;
  /** Expected number of GPUs; undefined: whatever the driver shows. */
  readonly gpus?: number;
  /** GPUs that no slot gets: PCI addresses (`0000:03:00.0`), or kinds (`10de:128b`). */
  readonly ignoredGpus?: readonly string[];
  /** `{host}-{slot}` by default. */
  readonly agentName: string;
  readonly limits: SlotLimits;
  /** For slots that the inventory does not list one by one. */
  readonly driverCapabilities: DriverCapabilities;
  readonly image: ImageConfig;
  readonly datasets: readonly Dataset[];
  readonly jobs: { readonly sudo: boolean; readonly docker: boolean };
  /** Jobs start only while network isolation works. Undefined: they start anyway, and the status shows the problem. */
  readonly fence?: 'required';
  readonly registration: 'rest' | 'config';
  readonly capabilities: Readonly<Record<string, string>>;
  readonly proxy: {
    readonly http?: string;
    readonly https?: string;
    readonly noProxy: readonly string[];
    readonly ca: boolean;
    /** Digest of the site's certificates: idle agents with other certificates are replaced. */
    readonly caSha256?: string;
  };
  /** Conditions for messages to the webhook, in seconds; undefined: no webhook. Its URL is in a separate file. */
  readonly webhook?: {
    /** An agent is offline longer than this. */
    readonly offlineS: number;
    /** A job waits longer than this. */
    readonly queueWaitS: number;
  };
  /** Powers off an unused machine; undefined: never. */
  readonly idle?: IdleConfig;
  /** Connection test to the organization's server. Undefined: on. */
  readonly connectivityCheck?: 'off';
  /** Loopback port of the metrics, 0: none. */
  readonly metricsPort: number;
}

/** Values of keys that the file lacks: the same as for an inventory without them. The image is built on the host. */
export const configDefaults: Omit<
  ManagerConfig,
  'schema' | 'host' | 'organization' | 'credential' | 'pool' | 'image'
> = {
  agents: { kind: 'one-per-gpu' },
  agentName: '{host}-{slot}',
  share: false,
  limits: {},
  driverCapabilities: ['compute', 'utility'],
  datasets: [],
  jobs: { sudo: false, docker: false },
  registration: 'rest',
  capabilities: {},
  proxy: { noProxy: [], ca: false },
  metricsPort: 0,
};

/** Either a registry reference, or a build on the host from the uploaded context. */
export type ImageConfig =
  | {
      readonly kind: 'registry';
      readonly reference: string;
      /** The host that builds and pushes the image; other hosts wait for it. */
      readonly builtBy?: string;
    }
  | {
      readonly kind: 'build';
      /** Overrides the automatic choice of the base. */
      readonly base?: string;
      /** Registry prefix replacing docker.io. */
      readonly registry?: string;
      /** Replaces the hosts of Ubuntu's and Debian's archives during the build. */
      readonly aptMirror?: string;
      readonly agentVersion: string;
      readonly agentSha256: string;
      /** Complete download URL of the agent tarball for this host's architecture. */
      readonly agentUrl: string;
      /** A team's Dockerfile, built on the agent image. */
      readonly top?: TopImage;
    };

/** A folder with a Dockerfile whose `BASE` is the agent image. */
interface TopImage {
  /** Name of the folder; part of the image's tag. */
  readonly name: string;
  /** sha256 of the archive `/var/lib/azp-fleet/folders/SHA256.tar`. */
  readonly folder: string;
  /** Reference that the image is pushed to, with its tag. */
  readonly push?: string;
}

/** Returns the image of a slot's containers. */
export function imageOf(
  config: Pick<ManagerConfig, 'image'>,
  { image }: Pick<SlotSpec, 'image'>,
): ImageConfig {
  return image === undefined ? config.image : { kind: 'registry', reference: image };
}

/** Returns a name that is equal for equal images. */
export function sourceName(image: ImageConfig): string {
  return image.kind === 'registry' ? image.reference : JSON.stringify(image);
}

/** Returns the images of a host's containers, each once, the host's own first. Without slots in containers: the host's image. */
export function imagesOf(config: Pick<ManagerConfig, 'image' | 'agents'>): readonly ImageConfig[] {
  const { agents, image } = config;
  const slots = agents.kind === 'slots' ? agents.slots.filter(({ mode }) => mode === 'container') : [];
  if (slots.length === 0) return [image];
  const slotImages = new Map(
    slots
      .flatMap((slot) => (slot.image === undefined ? [] : [imageOf(config, slot)]))
      .map((each) => [sourceName(each), each]),
  );
  // An image that other hosts wait for is built even if no slot here runs it.
  const isForOthers = image.kind === 'build' && image.top?.push !== undefined;
  const usesHosts = isForOthers || slots.some((slot) => slot.image === undefined);
  if (usesHosts) slotImages.delete(sourceName(image));
  return [...(usesHosts ? [image] : []), ...slotImages.values()];
}

/** A read-only folder for jobs. */
export interface Dataset {
  /** The environment variable, upper case. */
  readonly name: string;
  /** Absolute path on the host. */
  readonly host: string;
  /** Absolute path in the container. */
  readonly container: string;
  /** The host path must be a mount point (a missing NFS mount is then an error, not an empty folder). */
  readonly requireMount: boolean;
}

/** Returns whether a slot renders: the image then contains the loaders of EGL, OpenGL and Vulkan. */
export function needsGraphics({
  agents,
  driverCapabilities,
}: Pick<ManagerConfig, 'agents' | 'driverCapabilities'>): boolean {
  const all =
    agents.kind === 'slots' ? agents.slots.flatMap((slot) => slot.capabilities) : driverCapabilities;
  return all.includes('graphics') || all.includes('display');
}

/** Maximum length of the file, characters; ours have some thousands. */
const longest = 192 * 1024;
/** Limits far above those of a real host. */
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

/** A schema for each key: a key that another release defines differently does not affect the others. */
const keys = {
  schema: z.literal([1, 2]),
  host: text,
  organization: text,
  credential: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('pat') }),
    z.object({
      kind: z.literal('service-principal'),
      clientId: text,
      tenantId: text,
      authority: text.exactOptional(),
      proof: z.enum(['certificate', 'federation']).exactOptional(),
      tokenFile: text.exactOptional(),
    }),
    z.object({
      kind: z.literal('managed-identity'),
      clientId: text.exactOptional(),
      arc: z.literal(true).exactOptional(),
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
  connectivityCheck: z.literal('off'),
  metricsPort: count,
} satisfies Record<keyof ManagerConfig, z.ZodType>;

/** A manager.json of a host, of any release, or edited by hand. */
export interface StoredConfig {
  /** The keys that this release knows. */
  readonly config: Partial<ManagerConfig>;
  /** Paths of the other keys: `tenants`, `limits.gpu`, `agents.slots.0.nice`. */
  readonly unknown: readonly string[];
}

/** Parses a manager.json. Undefined: not a JSON object, or too long. */
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

/** Returns the paths that the second value has and the first lacks. */
function missingIn(kept: unknown, given: unknown, path: string): string[] {
  if (typeof given !== 'object' || given === null || typeof kept !== 'object' || kept === null) return [];
  return Object.entries(given).flatMap(([key, value]) => {
    const here = path === '' ? key : `${path}.${key}`;
    return Object.hasOwn(kept, key) ? missingIn((kept as Record<string, unknown>)[key], value, here) : [here];
  });
}
