import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describesGpus } from '../../shared/contract/gpus.ts';
import { gpuPath } from '../../shared/health/device-request.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { Fence } from './network-isolation.ts';
import { ImageUsers } from './job-user.ts';
import { readsOnlyBelow } from './mounts.ts';
import { mountPoints, unescaped } from '../machine/datasets.ts';
import type { EngineInfo } from '../../shared/engine/engine.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { Dataset } from '../../shared/contract/config.ts';
import type { Slot } from '../model.ts';

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

/**
 * Whether an engine holds containers to `limits.disk`. Its storage says so when one is made: overlay2 can on xfs that is
 * mounted with pquota, btrfs and zfs can. Asked once for each start of the engine.
 */
export class Sizes {
  #lack: string | undefined;
  readonly #onBtrfs: boolean;
  #uncounted = false;

  constructor(storage: EngineInfo['storage']) {
    this.#onBtrfs = storage.driver === 'btrfs';
    if (storage.byContainerd) this.#lack = 'its containerd image store knows no sizes';
  }

  /** Why not, as far as it is known; undefined: it does, or has not been asked. */
  get lack(): string | undefined {
    return this.#lack;
  }

  /** Asked for and given, yet not held: btrfs has stopped counting. */
  get uncounted(): boolean {
    return this.#uncounted;
  }

  /** Containers come and go, and with them what is counted. */
  async look(countsLost: () => Promise<boolean>): Promise<void> {
    if (this.#onBtrfs) this.#uncounted = await countsLost();
  }

  /** The engine has refused to make a container for its size. */
  refused(seen: string): void {
    this.#lack = seen;
  }
}

/**
 * True when btrfs no longer counts what the containers below `rootDir` hold: no size is held then, and Docker does not
 * notice. From Linux 6.1 on the removal of a subvolume ends the counting when its tree is higher than
 * `drop_subtree_threshold` (3 by default); a rescan brings it back. Source: sysfs of btrfs, `qgroups/inconsistent`.
 */
export async function countsLost(rootDir: string, { prefix }: HostRoot): Promise<boolean> {
  const device = basename(mountOf(rootDir, await readFile(`${prefix}/proc/self/mountinfo`, 'utf8')) ?? '');
  const folder = `${prefix}/sys/fs/btrfs`;
  for (const id of await readdir(folder).catch((): string[] => [])) {
    const devices = await readdir(join(folder, id, 'devices')).catch((): string[] => []);
    if (!devices.includes(device)) continue;
    const flag = await readFile(join(folder, id, 'qgroups/inconsistent'), 'utf8').catch(() => '0');
    return flag.trim() === '1';
  }
  return false;
}

/** The device of the mount that holds `path`, by the text of /proc/self/mountinfo; of several the one on top. Pure. */
export function mountOf(path: string, mountinfo: string): string | undefined {
  let found: { readonly point: string; readonly device: string } | undefined;
  for (const line of mountinfo.split('\n')) {
    const [own = '', filesystem = ''] = line.split(' - ');
    const point = unescaped(own.split(' ')[4] ?? '');
    const holds = point !== '' && `${path}/`.startsWith(point === '/' ? '/' : `${point}/`);
    if (holds && point.length >= (found?.point.length ?? 0))
      found = { point, device: unescaped(filesystem.split(' ')[1] ?? '') };
  }
  return found?.device;
}

/** What an engine cannot do that a configuration asks for. */
export interface Lacks {
  /** Mounts below each dataset that stay as they are. */
  readonly below: readonly { readonly name: string; readonly mounts: readonly string[] }[];
  /** Why containers are held to no size; undefined: they are, or it is not known yet. */
  readonly sizes: string | undefined;
  /** Sizes were given to containers, and their storage no longer counts. */
  readonly uncounted: boolean;
}

const noLimit = 'take limits.disk out of the inventory';
const onXfs = `${noLimit}, or put the root directory of Docker on xfs with the mount option pquota`;

const stopped = 'btrfs has stopped counting what containers hold';
const again =
  'run `btrfs quota rescan` on the root directory of Docker, and set drop_subtree_threshold to 8 (docs/jobs.md)';

/** What is not as the configuration wants it and keeps nobody from working. Pure. */
export function shortfalls(slots: readonly Slot[], { below, sizes, uncounted }: Lacks): readonly Finding[] {
  const sized = slots.filter(({ limits }) => limits.disk !== undefined);
  const onHost = sized.filter(({ mode }) => mode === 'host');
  const inContainers = sized.filter(({ mode }) => mode === 'container');
  return [
    ...below.map(({ name, mounts }) => warn('dataset.writable-below', writable(name, mounts), whereOlder)),
    ...(onHost.length === 0
      ? []
      : [
          warn(
            'slot.no-size-limit',
            `limits.disk does nothing straight on the host (${names(onHost)})`,
            noLimit,
          ),
        ]),
    ...(inContainers.length === 0 || sizes === undefined
      ? []
      : [warn('slot.no-size-limit', `limits.disk is not held (${names(inContainers)}): ${sizes}`, onXfs)]),
    ...(inContainers.length === 0 || !uncounted
      ? []
      : [warn('slot.no-size-limit', `limits.disk is not held (${names(inContainers)}): ${stopped}`, again)]),
  ];
}

const whereOlder = 'mount it read-only on the host, or bring Docker to 25 or newer on Linux 5.12 or newer';

function writable(name: string, mounts: readonly string[]): string {
  const [first = '', ...more] = mounts;
  const all = more.length === 0 ? first : `${first} and ${more.length} more`;
  return `dataset ${name}: what is mounted below it (${all}) is not read-only with it, as this Docker, its runtime or the kernel cannot`;
}

function warn(code: 'dataset.writable-below' | 'slot.no-size-limit', what: string, next: string): Finding {
  return { code, severity: 'warn', what, next };
}

function names(slots: readonly Slot[]): string {
  return slots.map(({ name }) => name).join(', ');
}

/** The mounts below each dataset, where there are some. Pure. */
export function mountsBelow(datasets: readonly Dataset[], points: Iterable<string>): Lacks['below'] {
  const all = [...points];
  return datasets
    .map(({ name, host }) => ({ name, mounts: all.filter((point) => point.startsWith(`${host}/`)).sort() }))
    .filter(({ mounts }) => mounts.length > 0);
}
