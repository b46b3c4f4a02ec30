import * as z from 'zod';

import { foreignJson } from '../../shared/base/foreign-text.ts';
import { isObject } from '../../shared/base/objects.ts';

/** Part of a file name, a version or a reference: printable ASCII without quotes, `\` and blanks. */
const word = z.string().regex(/^[\w.,:@~^+%/=-]{1,300}$/);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const bytes = z
  .number()
  .int()
  .nonnegative()
  .max(2 ** 40);
const machine = z.enum(['x86_64', 'aarch64']);

const member = z.strictObject({ sha256: digest, size: bytes });
const packageEntry = z.strictObject({
  /** Name in the package manager. */
  name: word,
  version: word,
  architecture: word,
  /** Name in the host's folder. */
  file: z.string().regex(/^\w[\w.+~^-]{0,200}$/),
  sha256: digest,
});
const packages = z.strictObject({
  /** `debian-12` */
  system: z.string().regex(/^[a-z]+-[0-9.]+$/),
  machine,
  /** The index that the package manager reads. */
  index: digest,
  /** Keys that signed the packages; signatures were checked when the packages were fetched. */
  keys: z.array(z.strictObject({ vendor: word, sha256: digest })).max(20),
  packages: z.array(packageEntry).max(20_000),
});
const image = z.strictObject({
  /** Name of the image in the hosts' managers. */
  reference: word,
  machine,
  /** The image it was built on; absent: it was pulled. */
  base: word.optional(),
  /** The archive that `docker load` reads. */
  sha256: digest,
  /** Uncompressed bytes, the least that an engine needs. Absent: unknown. */
  unpacked: bytes.optional(),
  /** Manifests that prove an image by digest, that of the digest first. */
  manifests: z.array(digest).min(1).max(2).optional(),
});

/** The agent's archive, for agents in host mode. */
const agent = z.strictObject({ version: word, machine, sha256: digest });

const runtime = z.strictObject({
  machine,
  version: word,
  /** The program, compressed with gzip. */
  sha256: digest,
  /** The same, compressed with zstd, for hosts that have it. Absent: made by a Node without zstd. */
  zstd: digest.optional(),
  unpacked: member,
});

const shape = z.strictObject({
  schema: z.literal(1),
  /** The azp-fleet release that made it. */
  version: word,
  /** ISO 8601 */
  at: z.iso.datetime(),
  manager: z.strictObject({
    program: digest,
    unit: digest,
    /** The build context of the agents' image. */
    context: z.array(z.strictObject({ path: word, sha256: digest })).max(100),
  }),
  runtimes: z.array(runtime).max(2),
  agents: z.array(agent).max(100),
  packages: z.array(packages).max(100),
  images: z.array(image).max(1000),
  /** All following files, in this order, each once. */
  members: z.array(member).max(200_000),
});

/** The manifest of a bundle, its first file. */
export type Manifest = Readonly<z.infer<typeof shape>>;
export type Member = Manifest['members'][number];
export type BundledPackages = Manifest['packages'][number];
export type BundledImage = Manifest['images'][number];

/** The most bytes of a manifest. */
export const longestManifest = 64 * 1024 ** 2;

/** Parses a manifest; undefined: it is invalid or inconsistent. `schema`: the schema that it claims. */
export function parseManifest(text: string): { readonly manifest?: Manifest; readonly schema?: unknown } {
  const value = foreignJson(text);
  const schema = isObject(value) ? value['schema'] : undefined;
  const { data } = shape.safeParse(value);
  return data === undefined || !fits(data) ? { schema } : { manifest: data, schema };
}

/** Tells whether every member is listed once and used, and every used digest is a member. */
function fits(manifest: Manifest): boolean {
  const members = new Set(manifest.members.map(({ sha256 }) => sha256));
  const used = new Set(digestsOf(manifest));
  return (
    members.size === manifest.members.length &&
    used.size === members.size &&
    [...used].every((each) => members.has(each))
  );
}

/** Returns the digests of all members that the manifest uses. */
export function digestsOf(manifest: Omit<Manifest, 'members'>): readonly string[] {
  const { manager, runtimes, agents, packages: sets, images } = manifest;
  return [
    manager.program,
    manager.unit,
    ...manager.context.map(({ sha256 }) => sha256),
    ...runtimes.flatMap(({ sha256, zstd }) => [sha256, ...(zstd === undefined ? [] : [zstd])]),
    ...agents.map(({ sha256 }) => sha256),
    ...sets.flatMap(({ index, keys, packages: each }) => [
      index,
      ...keys.map(({ sha256 }) => sha256),
      ...each.map(({ sha256 }) => sha256),
    ]),
    ...images.flatMap(({ sha256, manifests = [] }) => [sha256, ...manifests]),
  ];
}
