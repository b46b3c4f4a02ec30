import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describesGpus } from '../../shared/contract/cdi.ts';
import { gpuPath } from '../../shared/health/device-request.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { Fence } from './fence.ts';
import { ImageUsers } from './image-users.ts';
import { readsOnlyBelow } from './mounts.ts';
import { mountsBelow, type Lacks } from './shortfalls.ts';
import { Sizes } from './sizes.ts';
import { mountPoints } from '../machine/datasets.ts';

/** What depends on the Docker Engine that runs on this host. */
export interface EngineWays {
  readonly gpuPath: 'cdi' | 'nvidia';
  readonly cdiSpec: boolean;
  /** Group of the Docker socket, where jobs may use it. */
  readonly dockerGid: number | undefined;
  /** Mounts below a read-only folder are read-only with it. */
  readonly readOnlyBelow: boolean;
  /** What of datasets is not. */
  readonly below: Lacks['below'];
  readonly users: ImageUsers;
  readonly sizes: Sizes;
  /** Where the engine keeps everything. */
  readonly rootDir: string;
}

/** After a start of the engine: what it can do may have changed, and its network may be gone. */
export async function learnEngine(
  tools: Pick<ManagerDeps, 'engine' | 'config' | 'log'> & { readonly fence: Fence },
): Promise<EngineWays> {
  const { engine, config, fence, log } = tools;
  const [version, info] = await Promise.all([engine.version(), engine.info()]);
  const cdiSpec = await hasCdiSpec(info.cdiSpecDirs);
  const path = gpuPath({ ...version, cdiSpecDirs: info.cdiSpecDirs }, cdiSpec);
  // Before the rules: no container starts without it.
  await fence.enclose();
  await fence.raise();
  const socket = config.jobs.docker ? await stat('/var/run/docker.sock') : undefined;
  log.log('info', 'docker', { version: version.version, gpus: path.kind, why: path.why });
  const readOnlyBelow = readsOnlyBelow({ ...version, ...info });
  return {
    gpuPath: path.kind,
    cdiSpec,
    dockerGid: socket?.gid,
    readOnlyBelow,
    below: readOnlyBelow
      ? []
      : mountsBelow(config.datasets, mountPoints(await readFile('/proc/self/mountinfo', 'utf8'))),
    users: new ImageUsers(),
    sizes: new Sizes(info.storage),
    rootDir: info.rootDir,
  };
}

const ofGpus = new RegExp(describesGpus, 'm');

async function hasCdiSpec(directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) {
    for (const name of await readdir(directory).catch(() => [])) {
      if (!/\.(?:ya?ml|json)$/.test(name)) continue;
      if (ofGpus.test(await readFile(join(directory, name), 'utf8').catch(() => ''))) return true;
    }
  }
  return false;
}
