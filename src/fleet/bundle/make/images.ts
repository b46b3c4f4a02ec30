import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createGzip } from 'node:zlib';
import { FleetError, usageError } from '../../../shared/base/errors.ts';
import { Labels } from '../../../shared/contract/paths.ts';
import { type Blob, type ImageManifest, parseManifest } from '../../../shared/image/digest-proof.ts';
import type { BuildPlan, ImagePlan, TopPlan } from '../../../shared/image/plan.ts';
import type { Machine } from '../../packages/vendors.ts';
import { ending, headerOf, padded } from '../archive.ts';
import type { BundledImage, Member } from '../manifest.ts';
import { docker, type Docker } from './docker.ts';
import {
  digestName,
  type DigestName,
  type Download,
  type Login,
  loginOf,
  longestManifest,
  Registry,
  type RegistryTools,
} from './registry.ts';
import type { Spool } from './spool.ts';

export interface ImagesOptions {
  readonly tools: Docker;
  readonly spool: Spool;
  readonly download: Download;
  readonly note: (text: string) => void;
}

/** Builds or pulls an image by the name that the hosts' managers use, and saves it. */
export async function gatherImage(
  plan: ImagePlan,
  machine: Machine,
  options: ImagesOptions,
): Promise<BundledImage> {
  const { tools, spool, note } = options;
  const { reference } = plan;
  const name = plan.kind === 'pull' ? digestName(reference) : undefined;
  if (name !== undefined) {
    const login = (registry: string): Promise<Login | undefined> => loginOf(registry, tools.env);
    return gatherByDigest(reference, name, machine, { ...options, signal: tools.signal, login });
  }
  if (plan.kind === 'pull') await pull(reference, options);
  else if (plan.kind === 'build') await build(plan, plan.context, plan.args, {}, options);
  else await buildTop(plan, options);
  note(`saving ${reference}`);
  let unpacked = 0;
  let saved: Awaited<ReturnType<Spool['add']>> | undefined;
  await docker(tools, ['save', reference], {
    doing: `save ${reference}`,
    take: async (output) => {
      output.on('data', (chunk: Buffer) => {
        unpacked += chunk.length;
      });
      // Most layers are already compressed.
      saved = await spool.add(output.pipe(createGzip({ level: 1 })), tools.signal);
    },
  });
  if (saved === undefined) throw new Error(`${reference} was not saved`);
  const base = plan.kind === 'pull' ? undefined : (plan.kind === 'top' ? plan.under : plan).args['BASE'];
  return { reference, machine, ...(base === undefined ? {} : { base }), sha256: saved.sha256, unpacked };
}

async function pull(reference: string, { tools, note }: ImagesOptions): Promise<void> {
  note(`pulling ${reference}`);
  await docker(tools, ['pull', '-q', reference], { doing: `pull ${reference}` });
}

async function build(
  { reference, labels }: Pick<BuildPlan, 'reference' | 'labels'>,
  context: Buffer,
  args: BuildPlan['args'],
  more: Readonly<Record<string, string>>,
  { tools, note }: ImagesOptions,
): Promise<string> {
  note(`building ${reference}`);
  const all = Object.entries({ ...labels, ...more }).filter(([name]) => name !== Labels.host);
  const options = [
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...all.flatMap(([name, value]) => ['--label', `${name}=${value}`]),
  ];
  await docker(tools, ['build', '-t', reference, ...options, '-'], {
    doing: `build -t ${reference} -`,
    input: context,
    take: async (output) => {
      for await (const _ of output) tools.signal.throwIfAborted();
    },
  });
  const id = await docker(tools, ['image', 'inspect', '--format', '{{.Id}}', reference], {
    doing: `image inspect ${reference}`,
  });
  return id.trim();
}

/** Builds a team's folder on the agent image. The bundle has only the result. */
async function buildTop(plan: TopPlan, options: ImagesOptions): Promise<void> {
  const { under } = plan;
  await build(under, under.context, under.args, {}, options);
  const args = { ...plan.args, BASE: under.reference };
  await build(plan, await plan.context(), args, {}, options);
}

export interface ByDigestOptions extends RegistryTools {
  readonly spool: Spool;
  readonly note: (text: string) => void;
}

type OneImage = Extract<ImageManifest, { kind: 'image' }>;

/**
 * Fetches an image by digest from the registry, and checks the sha256 of each part. It does not use an engine, because an engine
 * saves images with other digests. The manifests prove the digest.
 */
export async function gatherByDigest(
  reference: string,
  name: DigestName,
  machine: Machine,
  options: ByDigestOptions,
): Promise<BundledImage> {
  const { spool, note } = options;
  const registry = new Registry(reference, name, options);
  note(`fetching ${reference}`);
  const documents: Member[] = [];
  const document = async (digest: string): Promise<{ member: Member; content: ImageManifest }> => {
    const member = await registry.take('manifests', digest, longestManifest, spool);
    documents.push(member);
    const content = parseManifest(await readFile(spool.fileOf(digest), 'utf8'));
    if (content === undefined) throw strange(reference);
    return { member, content };
  };
  let found = await document(name.digest);
  if (found.content.kind === 'index')
    found = await document(chosen(found.content.manifests, machine, reference).digest);
  if (found.content.kind === 'index') throw strange(reference);
  const image = found.content;
  const manifest = { ...found.member, digest: found.member.sha256, mediaType: mediaTypeOf(image) };
  const parts = { name: nameOf(name), manifest, ...image };
  const blobs = await spool.nested();
  await blobs.add([await readFile(spool.fileOf(manifest.digest))], options.signal);
  for (const { digest, size } of new Map(
    [image.config, ...image.layers].map((blob) => [blob.digest, blob]),
  ).values())
    await registry.take('blobs', digest, size, blobs);
  const { sha256 } = await spool.add(ociArchive(parts, blobs.fileOf), options.signal);
  await blobs.remove();
  return { reference, machine, sha256, manifests: documents.map((each) => each.sha256) };
}

/** Returns the media type of an image's manifest, by that of its configuration. */
function mediaTypeOf({ config }: OneImage): string {
  return config.mediaType === 'application/vnd.docker.container.image.v1+json'
    ? 'application/vnd.docker.distribution.manifest.v2+json'
    : 'application/vnd.oci.image.manifest.v1+json';
}

/** Returns a tag for the image, because `docker image prune` removes images without one. */
function nameOf({ registry, repository, digest }: DigestName): string {
  return `${registry}/${repository}:azp-fleet-${digest.slice(0, 12)}`;
}

function chosen(
  manifests: Extract<ImageManifest, { kind: 'index' }>['manifests'],
  machine: Machine,
  reference: string,
): Blob {
  const architecture = ({ x86_64: 'amd64', aarch64: 'arm64' } as const)[machine];
  const found = manifests.find((each) => each.os === 'linux' && each.architecture === architecture);
  if (found !== undefined) return found;
  const seen = manifests.map((each) => `${each.os}/${each.architecture}`).filter((each) => each !== '/');
  throw usageError({
    code: 'registry.not-found',
    what: `${reference} has no image for ${machine}`,
    expected: `linux/${architecture}`,
    seen: seen.slice(0, 8).join(', ') || 'no platform at all',
    next: 'use the digest of an image for this machine, or of the multi-platform index',
  });
}

function strange(reference: string): FleetError {
  return new FleetError({
    code: 'registry.other-content',
    what: `${reference} is not an image that a host can run`,
    expected: "an image by OCI's or Docker's schema 2, or a list of such",
    seen: 'another kind of manifest',
    next: 'use the digest that docker pull shows for it',
  });
}

/** The parts of an image, each a file. */
interface ImageParts {
  /** Name with a tag, against `docker image prune`: `registry.lab/team/x:azp-fleet-1a2b3c4d5e6f`. */
  readonly name: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

/**
 * Returns the tar archive for `docker load`: an OCI layout (image-spec, "Image Layout"), which keeps the manifest's digest in engines
 * with a containerd image store, and manifest.json for other engines. Equal parts make equal archives. `fileOf` returns the file
 * of a digest (hex).
 */
async function* ociArchive(
  { name, manifest, config, layers }: ImageParts,
  fileOf: (digest: string) => string,
): AsyncGenerator<Buffer> {
  const path = ({ digest }: Blob): string => `blobs/sha256/${digest}`;
  const tag = name.slice(name.lastIndexOf(':') + 1);
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': tag };
  const { mediaType, digest, size } = manifest;
  const texts = {
    'oci-layout': { imageLayoutVersion: '1.0.0' },
    'index.json': {
      schemaVersion: 2,
      manifests: [{ mediaType, digest: `sha256:${digest}`, size, annotations }],
    },
    'manifest.json': [{ Config: path(config), RepoTags: [name], Layers: layers.map(path) }],
  };
  for (const [file, value] of Object.entries(texts)) {
    const text = Buffer.from(JSON.stringify(value));
    yield* entry(file, text.length, [text]);
  }
  const blobs = new Map([manifest, config, ...layers].map((blob) => [blob.digest, blob]));
  for (const blob of blobs.values())
    yield* entry(path(blob), blob.size, createReadStream(fileOf(blob.digest), { highWaterMark: 1 << 20 }));
  yield ending;
}

async function* entry(
  name: string,
  size: number,
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  yield headerOf(name, size);
  yield* content;
  yield Buffer.alloc(padded(size) - size);
}
