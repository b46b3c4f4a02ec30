import { contextTar } from '../../shared/image/plan.ts';
import type { Desired } from '../steps/step.ts';
import { loadArtifacts } from './load.ts';
import { type FetchOptions, fetchRuntime } from './node-runtime.ts';

/** Where all that is brought to hosts comes from: the network, or a bundle. */
export interface UploadSources {
  readonly artifacts: Desired['artifacts'];
  /** What hosts would fetch themselves; absent: they do. */
  readonly included?: NonNullable<Desired['included']>;
  /** Makes the files that uploads to hosts of this `uname -m` need. */
  readonly prepare: (arch: string) => Promise<void>;
}

interface NetworkOptions extends FetchOptions {
  /** Where what has been fetched is kept. */
  readonly cache: string;
  /** Folders of Dockerfiles, as the inventory has them. */
  readonly folders: readonly string[];
  /** By the wall clock. */
  readonly now: number;
}

/** What this installation has, and a Node that npm fetches; the hosts fetch the rest. */
export async function fromNetwork({
  cache,
  folders,
  now,
  ...fetching
}: NetworkOptions): Promise<UploadSources> {
  const artifacts = await loadArtifacts(cache, folders, now);
  return {
    artifacts,
    prepare: async (arch) => {
      const runtime = artifacts.runtime(arch);
      if (runtime?.kind === 'file') await fetchRuntime(arch, runtime.file, fetching);
    },
  };
}

/** The build context as the manager of a host reads it from its folder: its bytes are part of the image's name. */
export function contextArchive(context: Desired['artifacts']['context']): Promise<Buffer> {
  return contextTar(
    context.map(({ path, artifact }) => ({
      path,
      content: Buffer.from(artifact.kind === 'text' ? artifact.text : ''),
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
    })),
  );
}
