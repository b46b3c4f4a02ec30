import { createReadStream } from 'node:fs';

import type { Blob } from '../../../../shared/image/digest-proof.ts';
import { ending, headerOf, padded } from '../../archive/header.ts';

/** An image with its parts, each a file. */
export interface ImageParts {
  /** With a tag, which keeps it from being cleaned up: `registry.lab/team/x:azp-fleet-1a2b3c4d5e6f`. */
  readonly name: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

/**
 * What `docker load` reads, as one tar archive: an OCI layout (image-spec, "Image Layout") for engines that keep images in
 * containerd, by whose own bytes the manifest's digest stays what it was, and beside it what all others read. Equal parts make
 * equal archives. `fileOf`: where the content of a digest (hex) lies.
 */
export async function* ociArchive(
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
