import { z } from 'zod';

import { sha256 } from '../base/digest.ts';
import { foreignJson } from '../base/foreign-text.ts';

/** The digest (hex) that an image's name ends with; undefined: it is named by a tag. */
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

/** One content of an image, as its manifest names it. Bytes. */
export interface Blob {
  /** Hex. */
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string | undefined;
}

/** What a digest of an image is the sha256 of: the image's own manifest, or a list of them, one a platform. */
export type ImageManifest =
  | { readonly kind: 'image'; readonly config: Blob; readonly layers: readonly Blob[] }
  | {
      readonly kind: 'index';
      readonly manifests: readonly (Blob & { readonly os: string; readonly architecture: string })[];
    };

/** OCI's and Docker's kinds (image-spec, "image manifest", "image index"; Docker's schema 2). Undefined: neither. */
export function parseManifest(text: string): ImageManifest | undefined {
  const said = foreignJson(text);
  const image = imageShape.safeParse(said).data;
  if (image !== undefined)
    return { kind: 'image', config: blob(image.config), layers: image.layers.map(blob) };
  const index = indexShape.safeParse(said).data;
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
 * By which ids (`sha256:…`) an engine can have the image of this digest: those of its manifest and of its configuration,
 * because engines go by the one or the other. `documents` are manifests; each counts for what its own sha256 is, so they
 * prove what they say, whoever wrote them down. None: they prove nothing about this digest. Pure.
 */
export function provenIds(wanted: string, documents: readonly Uint8Array[]): readonly string[] {
  const known = new Map(documents.map((each) => [sha256(each), Buffer.from(each).toString()]));
  const top = parseManifest(known.get(wanted) ?? '');
  if (top === undefined) return [];
  const among = top.kind === 'image' ? [wanted] : top.manifests.map((each) => each.digest);
  return among.flatMap((each) => {
    const image = parseManifest(known.get(each) ?? '');
    return image?.kind === 'image' ? [`sha256:${each}`, `sha256:${image.config.digest}`] : [];
  });
}
