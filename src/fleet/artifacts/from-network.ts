import { fetchRuntime, type FetchOptions } from './fetch-runtime.ts';
import { loadArtifacts } from './load.ts';
import type { Things } from './things.ts';

interface NetworkOptions extends FetchOptions {
  /** Where what has been fetched is kept. */
  readonly cache: string;
  /** Folders of Dockerfiles, as the inventory has them. */
  readonly folders: readonly string[];
  /** By the wall clock. */
  readonly now: number;
}

/** What this installation has, and a Node that npm fetches; the hosts fetch the rest. */
export async function fromNetwork({ cache, folders, now, ...fetching }: NetworkOptions): Promise<Things> {
  const artifacts = await loadArtifacts(cache, folders, now);
  return {
    artifacts,
    prepare: async (arch) => {
      const runtime = artifacts.runtime(arch);
      if (runtime?.kind === 'file') await fetchRuntime(arch, runtime.file, fetching);
    },
  };
}
