import { basename, join } from 'node:path';

import { contextTar } from '../../shared/image/plan.ts';
import type { FileArtifact } from '../steps/change.ts';
import type { Desired } from '../steps/step.ts';
import { loadArtifacts } from './load.ts';
import { type FetchOptions, fetchRuntime } from './node-runtime.ts';

/** The sources of everything that is uploaded to hosts: the network, or a bundle. */
export interface UploadSources {
  readonly artifacts: Desired['artifacts'];
  /** Packages and images that hosts would otherwise fetch themselves; absent: they fetch them. */
  readonly included?: NonNullable<Desired['included']>;
  /** Creates the file of a runtime that the plan uploads. */
  readonly prepare: (runtime: FileArtifact) => Promise<void>;
}

interface NetworkOptions extends FetchOptions {
  /** Folder for fetched files. */
  readonly cache: string;
  /** Folders of Dockerfiles, as the inventory has them. */
  readonly folders: readonly string[];
  /** By the wall clock. */
  readonly now: number;
}

/** Returns this installation's files and a Node that npm fetches. The hosts fetch the rest themselves. */
export async function fromNetwork({
  cache,
  folders,
  now,
  ...fetching
}: NetworkOptions): Promise<UploadSources> {
  const artifacts = await loadArtifacts(cache, folders, now);
  return {
    artifacts,
    // A saved plan may name any path: the file belongs into the cache.
    prepare: (runtime) => fetchRuntime({ ...runtime, file: join(cache, basename(runtime.file)) }, fetching),
  };
}

/** Returns the archive of the build context, exactly as the manager reads it: its bytes are part of the image's name. */
export function contextArchive(context: Desired['artifacts']['context']): Promise<Buffer> {
  return contextTar(
    context.map(({ path, artifact }) => ({
      path,
      content: Buffer.from(artifact.kind === 'text' ? artifact.text : ''),
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
    })),
  );
}
