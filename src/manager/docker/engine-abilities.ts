import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describesGpus } from '../../shared/contract/gpus.ts';
import { gpuPath } from '../../shared/health/device-request.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { NetworkIsolation } from './network-isolation.ts';
import { ImageUsers } from './job-user.ts';
import { readsOnlyBelow } from './mounts.ts';
import { mountPoints, unescaped } from '../machine/datasets.ts';
import type { EngineInfo } from '../../shared/engine/engine.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { Dataset } from '../../shared/contract/config.ts';
import type { Slot } from '../model.ts';

/** What the Docker Engine of this host supports. */
export interface EngineAbilities {
  readonly gpuPath: 'cdi' | 'nvidia';
  readonly cdiSpec: boolean;
  /** Group of the Docker socket, where jobs may use it. */
  readonly dockerGid: number | undefined;
  /** Mounts below a read-only folder are read-only, too. */
  readonly readOnlyBelow: boolean;
  /** Mounts below datasets that stay writable. */
  readonly below: Limitations['below'];
  readonly users: ImageUsers;
  readonly sizes: SizeLimits;
  /** Root directory of the engine. */
  readonly rootDir: string;
}

/** Inspects the engine after its start: its features may have changed, and its network may be missing. */
export async function inspectEngine(
  tools: Pick<ManagerDeps, 'engine' | 'config' | 'log'> & { readonly isolation: NetworkIsolation },
): Promise<EngineAbilities> {
  const { engine, config, isolation, log } = tools;
  const [version, info] = await Promise.all([engine.version(), engine.info()]);
  const cdiSpec = await hasCdiSpec(info.cdiSpecDirs);
  const path = gpuPath({ ...version, cdiSpecDirs: info.cdiSpecDirs }, cdiSpec);
  // First the network: no container starts without it.
  await isolation.ensureNetwork();
  await isolation.ensureRules();
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
    sizes: new SizeLimits(info.storage),
    rootDir: info.rootDir,
  };
}

const gpuSpec = new RegExp(describesGpus, 'm');

async function hasCdiSpec(directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) {
    for (const name of await readdir(directory).catch(() => [])) {
      if (!/\.(?:ya?ml|json)$/.test(name)) continue;
      if (gpuSpec.test(await readFile(join(directory, name), 'utf8').catch(() => ''))) return true;
    }
  }
  return false;
}

/**
 * Whether the engine enforces `limits.disk`, which it reports when a container is created: overlay2 supports it on xfs with
 * pquota; btrfs and zfs do. One object for each start of the engine.
 */
export class SizeLimits {
  #unsupported: string | undefined;
  readonly #onBtrfs: boolean;
  #uncounted = false;

  constructor(storage: EngineInfo['storage']) {
    this.#onBtrfs = storage.driver === 'btrfs';
    if (storage.byContainerd) this.#unsupported = 'its containerd image store does not support size limits';
  }

  /** Why sizes are not enforced; undefined: they are, or it is not known yet. */
  get unsupported(): string | undefined {
    return this.#unsupported;
  }

  /** Limits are set and not enforced, because btrfs stopped counting. */
  get uncounted(): boolean {
    return this.#uncounted;
  }

  /** Checks whether btrfs still counts. */
  async check(btrfsStoppedCounting: () => Promise<boolean>): Promise<void> {
    if (this.#onBtrfs) this.#uncounted = await btrfsStoppedCounting();
  }

  /** Notes that the engine refused a container because of its size. */
  refused(seen: string): void {
    this.#unsupported = seen;
  }
}

/**
 * Returns true when btrfs no longer counts the size of containers below `rootDir`: then no limit is enforced, and Docker does
 * not notice. From Linux 6.1 on the removal of a subvolume stops the counting when its tree is higher than
 * `drop_subtree_threshold` (3 by default); a rescan restores it. Source: sysfs of btrfs, `qgroups/inconsistent`.
 */
export async function btrfsStoppedCounting(rootDir: string, { prefix }: HostRoot): Promise<boolean> {
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

/** Returns the device of the mount that contains `path`, from the text of /proc/self/mountinfo; of several the topmost. Pure. */
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

/** Settings that the engine does not support. */
export interface Limitations {
  /** Mounts below each dataset that stay writable. */
  readonly below: readonly { readonly name: string; readonly mounts: readonly string[] }[];
  /** Why sizes are not enforced; undefined: they are, or it is not known yet. */
  readonly sizes: string | undefined;
  /** Limits are set, and btrfs no longer counts. */
  readonly uncounted: boolean;
}

const removeLimit = 'remove limits.disk from the inventory';
const removeLimitOrUseXfs = `${removeLimit}, or put the root directory of Docker on xfs with the mount option pquota`;

const stoppedCounting = 'btrfs stopped counting the size of containers';
const rescanQuota =
  'run `btrfs quota rescan` on the root directory of Docker, and set drop_subtree_threshold to 8 (docs/jobs.md)';

/** Returns warnings about settings that have no effect here. Jobs run. Pure. */
export function shortfalls(
  slots: readonly Slot[],
  { below, sizes, uncounted }: Limitations,
): readonly Finding[] {
  const sized = slots.filter(({ limits }) => limits.disk !== undefined);
  const onHost = sized.filter(({ mode }) => mode === 'host');
  const inContainers = sized.filter(({ mode }) => mode === 'container');
  return [
    ...below.map(({ name, mounts }) =>
      warn('dataset.writable-below', writableBelow(name, mounts), mountOrUpgrade),
    ),
    ...(onHost.length === 0
      ? []
      : [
          warn(
            'slot.no-size-limit',
            `limits.disk has no effect with mode: host (${names(onHost)})`,
            removeLimit,
          ),
        ]),
    ...(inContainers.length === 0 || sizes === undefined
      ? []
      : [
          warn(
            'slot.no-size-limit',
            `limits.disk is not enforced (${names(inContainers)}): ${sizes}`,
            removeLimitOrUseXfs,
          ),
        ]),
    ...(inContainers.length === 0 || !uncounted
      ? []
      : [
          warn(
            'slot.no-size-limit',
            `limits.disk is not enforced (${names(inContainers)}): ${stoppedCounting}`,
            rescanQuota,
          ),
        ]),
  ];
}

const mountOrUpgrade =
  'mount it read-only on the host, or upgrade to Docker 25 or newer on Linux 5.12 or newer';

function writableBelow(name: string, mounts: readonly string[]): string {
  const [first = '', ...more] = mounts;
  const all = more.length === 0 ? first : `${first} and ${more.length} more`;
  return `dataset ${name}: mounts below it (${all}) stay writable: this Docker, its runtime or the kernel does not support recursive read-only mounts`;
}

function warn(code: 'dataset.writable-below' | 'slot.no-size-limit', what: string, next: string): Finding {
  return { code, severity: 'warn', what, next };
}

function names(slots: readonly Slot[]): string {
  return slots.map(({ name }) => name).join(', ');
}

/** Returns the mounts below each dataset that has some. Pure. */
export function mountsBelow(datasets: readonly Dataset[], points: Iterable<string>): Limitations['below'] {
  const all = [...points];
  return datasets
    .map(({ name, host }) => ({ name, mounts: all.filter((point) => point.startsWith(`${host}/`)).sort() }))
    .filter(({ mounts }) => mounts.length > 0);
}
