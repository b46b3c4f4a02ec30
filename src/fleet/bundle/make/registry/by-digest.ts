import { readFile } from 'node:fs/promises';

import { FleetError, usageError } from '../../../../shared/base/errors.ts';
import { parseManifest, type Blob, type ImageManifest } from '../../../../shared/image/digest-proof.ts';
import type { Machine } from '../../../packages/vendors.ts';
import type { BundledImage, Member } from '../../manifest.ts';
import type { Spool } from '../spool.ts';
import type { DigestName } from './name.ts';
import { ociArchive } from './oci-archive.ts';
import { longestManifest, Registry, type RegistryTools } from './registry.ts';

export interface ByDigestOptions extends RegistryTools {
  readonly spool: Spool;
  readonly note: (text: string) => void;
}

type OneImage = Extract<ImageManifest, { kind: 'image' }>;

/**
 * An image that is named by its digest, from the registry itself, every content held to its sha256 from the name's on down: no
 * engine has a part in it, because what one saves has other digests. The manifests come along as what proves the name.
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
  const document = async (digest: string): Promise<{ member: Member; said: ImageManifest }> => {
    const member = await registry.take('manifests', digest, longestManifest, spool);
    documents.push(member);
    const said = parseManifest(await readFile(spool.fileOf(digest), 'utf8'));
    if (said === undefined) throw strange(reference);
    return { member, said };
  };
  let found = await document(name.digest);
  if (found.said.kind === 'index')
    found = await document(chosen(found.said.manifests, machine, reference).digest);
  if (found.said.kind === 'index') throw strange(reference);
  const image = found.said;
  const manifest = { ...found.member, digest: found.member.sha256, mediaType: mediaTypeOf(image) };
  const parts = { name: nameOf(name), manifest, ...image };
  const blobs = await spool.room();
  await blobs.add([await readFile(spool.fileOf(manifest.digest))], options.signal);
  for (const { digest, size } of new Map(
    [image.config, ...image.layers].map((blob) => [blob.digest, blob]),
  ).values())
    await registry.take('blobs', digest, size, blobs);
  const { sha256 } = await spool.add(ociArchive(parts, blobs.fileOf), options.signal);
  await blobs.remove();
  return { reference, machine, sha256, manifests: documents.map((each) => each.sha256) };
}

/** Docker's and OCI's images say by the kind of their configuration which they are. */
function mediaTypeOf({ config }: OneImage): string {
  return config.mediaType === 'application/vnd.docker.container.image.v1+json'
    ? 'application/vnd.docker.distribution.manifest.v2+json'
    : 'application/vnd.oci.image.manifest.v1+json';
}

/** A tag of ours, that nothing is known by: `docker image prune` leaves what has one. */
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
    next: 'name the digest of an image for this machine, or of the list of all',
  });
}

function strange(reference: string): FleetError {
  return new FleetError({
    code: 'registry.other-content',
    what: `${reference} is no image that a host could run`,
    expected: "an image by OCI's or Docker's schema 2, or a list of such",
    seen: 'another kind of manifest',
    next: 'name the digest that docker pull shows for it',
  });
}
