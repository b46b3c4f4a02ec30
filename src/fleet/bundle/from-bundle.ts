import { defined } from '../../shared/base/objects.ts';
import { usageError } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';
import { digestIn, provenIds } from '../../shared/image/digest-proof.ts';
import { loadFolders } from '../artifacts/load.ts';
import { nodeVersion } from '../artifacts/node-runtime.ts';
import { contextArchive, type UploadSources } from '../artifacts/upload-sources.ts';
import type { FileArtifact } from '../steps/change.ts';
import type { IncludedImage } from '../steps/bundle/content.ts';
import { type OpenedBundle, readMember } from './archive.ts';
import type { BundledImage } from './manifest.ts';

interface BundleOptions {
  /** The command that makes it again. */
  readonly again: string;
  readonly cache: string;
  /** Folders of Dockerfiles, as the inventory has them. */
  readonly folders: readonly string[];
  readonly now: number;
}

/** Returns sources of uploads from a checked bundle. Throws where another release made it, because its files fit that release. */
export async function fromBundle(
  bundle: OpenedBundle,
  { again, cache, folders, now }: BundleOptions,
): Promise<UploadSources> {
  const { manifest, file } = bundle;
  if (manifest.version !== version)
    throw usageError({
      code: 'bundle.version',
      what: `the bundle ${file} was made by azp-fleet ${manifest.version}, and this is ${version}`,
      expected: version,
      seen: manifest.version,
      next: `use azp-fleet ${manifest.version}, or make it again: ${again}`,
    });
  const { manager, runtimes, agents } = manifest;
  const text = async (sha256: string): Promise<string> => (await readMember(bundle, sha256)).toString();
  const context = await Promise.all(
    manager.context.map(async ({ path, sha256 }) => ({
      path,
      artifact: { kind: 'text' as const, text: await text(sha256), sha256 },
    })),
  );
  const indexes = new Map<string, string>();
  for (const { index } of manifest.packages) indexes.set(index, await text(index));
  const proofs = new Map<BundledImage, IncludedImage['proof']>();
  for (const image of manifest.images) proofs.set(image, await proofOf(bundle, image));
  return {
    artifacts: {
      manager: slice(bundle, manager.program),
      unit: await text(manager.unit),
      context,
      folders: await loadFolders(cache, folders, now),
      nodeVersion,
      runtime: (arch, zstd) => {
        const found = runtimes.find(({ machine }) => machine === arch);
        if (found === undefined) return undefined;
        return zstd && found.zstd !== undefined
          ? { ...slice(bundle, found.zstd), ...found.unpacked, unzstd: true }
          : { ...slice(bundle, found.sha256), ...found.unpacked, gunzip: true };
      },
    },
    included: {
      rebuild: again,
      context: await contextArchive(context),
      packages: ({ id, versionId, machine }) => {
        const set = manifest.packages.find(
          (each) => each.system === `${id}-${versionId}` && each.machine === machine,
        );
        return (
          set && {
            index: indexes.get(set.index) ?? '',
            packages: set.packages.map((each) => ({ file: each.file, artifact: slice(bundle, each.sha256) })),
          }
        );
      },
      image: (reference, machine) => {
        const found = manifest.images.find(
          (each) => each.reference === reference && each.machine === machine,
        );
        return (
          found && {
            archive: slice(bundle, found.sha256),
            ...defined({ proof: proofs.get(found), unpacked: found.unpacked }),
          }
        );
      },
      agent: (sha256) => (agents.some((each) => each.sha256 === sha256) ? slice(bundle, sha256) : undefined),
      images: (machine) =>
        manifest.images.flatMap((each) => (each.machine === machine ? [each.reference] : [])),
    },
    prepare: () => Promise.resolve(),
  };
}

/** Returns the manifests that prove an image's digest. Throws where the bundle has none that do. */
async function proofOf(
  bundle: OpenedBundle,
  { reference, manifests }: BundledImage,
): Promise<IncludedImage['proof']> {
  const digest = digestIn(reference);
  if (digest === undefined) return undefined;
  const documents = await Promise.all((manifests ?? []).map((each) => readMember(bundle, each)));
  const ids = provenIds(digest, documents);
  if (ids.length > 0) return { manifests: (manifests ?? []).map((each) => slice(bundle, each)), ids };
  throw usageError({
    code: 'bundle.damaged',
    what: `the bundle ${bundle.file} has no manifest that proves ${reference}`,
    expected: 'the manifest of that digest',
    seen: documents.length === 0 ? 'none' : 'other manifests',
    next: 'make it again: azp-fleet bundle',
  });
}

/** Returns a member as an upload that is read from the bundle's file. */
function slice({ file, places }: OpenedBundle, sha256: string): FileArtifact {
  const place = places.get(sha256);
  if (place === undefined) throw new Error(`no member ${sha256}`);
  const { start, size } = place;
  return { kind: 'file', file, sha256, size, gunzip: false, part: { start, bytes: size } };
}
