import type { Facts } from '../../facts/facts.ts';
import { platformOf } from '../../packages/distribution.ts';
import type { Distribution } from '../../packages/systems.ts';
import type { Machine } from '../../packages/vendors.ts';

/** What of a host decides which things it needs, whatever is on it by now. */
export type Needing = Pick<
  Facts,
  'os' | 'arch' | 'platform' | 'systemd' | 'gpus' | 'ignoredGpus' | 'nvswitches' | 'nvlink5' | 'kernels'
> & {
  /** The kernels' own packages. */
  readonly images: readonly string[];
  /** The kernel's own compiler, where it names one. */
  readonly lacksToBuild: readonly string[];
};

/** Of a host that was read. Headers that it has, no archive may have any more. */
export function needingOf(facts: Facts): Needing {
  const { os, arch, platform, systemd, gpus, ignoredGpus, nvswitches, nvlink5, kernels } = facts;
  const { offline } = platformOf(facts)?.packages ?? {};
  return {
    os,
    arch,
    platform,
    systemd,
    gpus,
    ignoredGpus,
    nvswitches,
    nvlink5,
    kernels: kernels.map((kernel) => ({ ...kernel, driver: false })),
    images: Object.keys(facts.packages).filter((name) => offline?.isKernel(name) === true),
    lacksToBuild: facts.lacksToBuild,
  };
}

/** Of a host that nobody can read from here: one GPU of a generation that open modules drive (an H100), no NVSwitch. */
export function needingUnseen(
  { id, versionId }: Pick<Distribution, 'id' | 'versionId'>,
  machine: Machine,
  kernels: readonly string[],
  images: readonly string[],
): Needing {
  return {
    os: { id, idLike: [], versionId, codename: '', pretty: `${id} ${versionId}` },
    arch: machine,
    platform: undefined,
    systemd: undefined,
    gpus: [{ address: '0000:01:00.0', deviceId: '2330', boundTo: undefined }],
    ignoredGpus: [],
    nvswitches: 0,
    nvlink5: { switches: 0, umad: false },
    kernels: kernels.map((release) => ({ release, headers: false, driver: false })),
    images,
    lacksToBuild: [],
  };
}

/** The facts of such a host before anything of ours is on it: a bundle also serves one that is set up anew. */
export function bareHost({ images, lacksToBuild, ...needing }: Needing): Facts {
  return {
    ...nothing,
    ...needing,
    packages: Object.fromEntries(images.map((name) => [name, '0'])),
    lacksToBuild: [...new Set(['gcc', 'make', ...lacksToBuild])],
  };
}

const nothing: Omit<Facts, keyof Omit<Needing, 'images' | 'lacksToBuild'> | 'packages' | 'lacksToBuild'> = {
  kernel: '',
  machineId: '',
  bootId: '',
  time: undefined,
  uptimeS: 0,
  login: { user: 'root', uid: 0 },
  driver: {
    loaded: undefined,
    open: undefined,
    userspace: undefined,
    nouveau: false,
    secureBoot: false,
    keys: [],
    runfile: false,
    takenAway: false,
    inUse: false,
    services: [],
  },
  docker: {
    serverVersion: undefined,
    active: false,
    enabled: false,
    liveRestore: false,
    swarm: false,
    snap: false,
    podman: false,
    daemonJson: undefined,
    images: [],
    runtimes: [],
    cgroupDriver: undefined,
    rootDir: '/var/lib/docker',
    restartNeeded: false,
  },
  toolkit: {
    version: undefined,
    unpackaged: false,
    cdiSpec: false,
    cdiDriver: undefined,
    cdiUses: [],
    cdiMigDiffers: false,
    cdiInEtc: [],
    cdiInRun: false,
    cdiOlder: false,
  },
  unfinished: {},
  held: [],
  files: {},
  texts: {},
  siteCaTrusted: false,
  manager: {
    current: undefined,
    unitActive: undefined,
    unitEnabled: false,
    reloadNeeded: false,
    credentialDigest: undefined,
    registriesDigest: undefined,
    webhookDigest: undefined,
    installation: undefined,
    context: undefined,
    folders: [],
    archives: [],
    leftovers: [],
    status: undefined,
    release: undefined,
  },
  disk: {},
  initramfsBytes: 0,
  arrived: {},
  memoryMiB: 0,
  cpus: 1,
  rebootRequired: false,
  others: { containers: [], gpuProcesses: [], logins: [] },
  ours: {
    folders: [],
    users: [],
    daemonJsonBefore: undefined,
    cdi: { made: [], aside: [] },
    sources: [],
    packages: undefined,
  },
  changes: [],
  packageLock: undefined,
  hostLock: undefined,
};
