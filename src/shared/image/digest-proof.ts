import * as z from 'zod';

import { sha256 } from '../base/digest.ts';
import { foreignJson } from '../base/foreign-text.ts';

/** Returns the digest (hex) at the end of an image reference; undefined: it has a tag. */
export function digestIn(reference: string): string | undefined {
  return /@sha256:([0-9a-f]{64})$/.exec(reference)?.[1];
}

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const described = z.object({
  digest,
  size: z
    .number()
    .int()
    .nonnegative()
    .max(2 ** 40),
  mediaType: z.string().max(200).optional(),
});
const indexShape = z.object({
  manifests: z
    .array(
      described.extend({
        platform: z
          .object({ os: z.string(), architecture: z.string(), variant: z.string().optional() })
          .optional()
          .catch(undefined),
      }),
    )
    .max(1000),
});
const imageShape = z.object({ config: described, layers: z.array(described).max(1000) });

/** One blob of an image, as its manifest describes it. `size` is in bytes. */
export interface Blob {
  /** Hex. */
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string | undefined;
}

/** The document that an image digest identifies: a manifest, or an index with one manifest for each platform. */
export type ImageManifest =
  | { readonly kind: 'image'; readonly config: Blob; readonly layers: readonly Blob[] }
  | {
      readonly kind: 'index';
      readonly manifests: readonly (Blob & { readonly os: string; readonly architecture: string })[];
    };

/** Parses manifests and indexes of OCI and Docker (image-spec; Docker's schema 2). Undefined: neither. */
export function parseManifest(text: string): ImageManifest | undefined {
  const value = foreignJson(text);
  const image = imageShape.safeParse(value).data;
  if (image !== undefined)
    return { kind: 'image', config: blob(image.config), layers: image.layers.map(blob) };
  const index = indexShape.safeParse(value).data;
  if (index === undefined) return undefined;
  return {
    kind: 'index',
    manifests: index.manifests.map((each) => ({
      ...blob(each),
      os: each.platform?.os ?? '',
      architecture: each.platform?.architecture ?? '',
    })),
  };
}

function blob({ digest: named, size, mediaType }: z.infer<typeof described>): Blob {
  return { digest: named.slice('sha256:'.length), size, mediaType };
}

/**
 * Returns the ids (`sha256:…`) that an engine can show for the image of this digest: that of its manifest and that of its
 * configuration; engines use the one or the other. `documents` are manifests; each is identified by its own sha256, so its
 * source need not be trusted. Empty: the documents do not belong to this digest. Pure.
 */
export function provenIds(requested: string, documents: readonly Uint8Array[]): readonly string[] {
  const known = new Map(documents.map((each) => [sha256(each), Buffer.from(each).toString()]));
  const top = parseManifest(known.get(requested) ?? '');
  if (top === undefined) return [];
  const among = top.kind === 'image' ? [requested] : top.manifests.map((each) => each.digest);
  return among.flatMap((each) => {
    const image = parseManifest(known.get(each) ?? '');
    return image?.kind === 'image' ? [`sha256:${each}`, `sha256:${image.config.digest}`] : [];
  });
}
