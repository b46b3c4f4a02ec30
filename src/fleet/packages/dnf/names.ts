import type { DriverSpec } from '../../inventory/fleet.ts';
import {
  type DriverNames,
  type DriverUse,
  type LibraryNames,
  type RunfileNeeds,
  type SystemNames,
} from '../names.ts';
import { kernelBuild } from './headers.ts';
import { type Epel, withBuilder, withDkms } from './repositories.ts';

/** Packages with the same files as Docker's (docs.docker.com/engine/install/rhel). Their removal keeps /var/lib/docker. */
const conflicts: readonly string[] = [
  'docker',
  'docker-client',
  'docker-client-latest',
  'docker-common',
  'docker-engine',
  'docker-latest',
  'docker-latest-logrotate',
  'docker-logrotate',
  'podman-docker',
  'containerd',
  'runc',
];

/** Desktop packages of Red Hat's systems, and the driver's packages that they need. */
export const desktop: SystemNames['desktop'] = {
  own: [
    'gdm',
    'sddm',
    'lightdm',
    'gnome-shell',
    'plasma-workspace',
    'xorg-x11-server-Xorg',
    'xorg-x11-drv-nvidia*',
  ],
  driver: ['nvidia-driver', 'nvidia-driver-libs', 'nvidia-settings', 'nvidia-xconfig', 'xorg-x11-nvidia'],
};

/** Libraries that .NET, and so the agent, loads (learn.microsoft.com/dotnet/core/install/linux-rhel). */
const agentLibraries: readonly LibraryNames[] = [
  { what: 'ICU', names: ['libicu'] },
  { what: 'OpenSSL', names: ['openssl-libs'] },
  { what: 'Kerberos', names: ['krb5-libs'] },
  { what: 'zlib', names: ['zlib-ng-compat', 'zlib'] },
];

/**
 * NVIDIA's packages for Red Hat's systems and Amazon Linux, compute only (driver installation guide, "compute-only"; spec
 * files of NVIDIA/yum-packaging-nvidia-driver). All branches have these names.
 */
const driverCommons = {
  packages: (spec: DriverSpec, flavor: 'open' | 'proprietary', nvswitches: number) => [
    'nvidia-driver-cuda',
    flavor === 'open' ? 'kmod-nvidia-open-dkms' : 'kmod-nvidia-latest-dkms',
    ...(nvswitches === 0 ? [] : [fabricManager(spec)]),
  ],
  extras: (_: DriverSpec, uses: readonly DriverUse[]) => librariesFor(uses),
  lacks: (packages: Readonly<Record<string, string>>, uses: readonly DriverUse[]) =>
    packages['nvidia-driver-cuda'] === undefined
      ? []
      : librariesFor(uses).filter((name) => packages[name] === undefined),
  variants: () => ['nvidia-driver-cuda'],
  formerly: ['nvidia-driver-cuda'],
  // Keeps the GPUs initialised between containers. Newer branches depend on it.
  optional: () => ['nvidia-persistenced'],
  obsolete: (installed: readonly string[], _: DriverSpec, desired: readonly string[]) =>
    installed.filter((name) => inTheWay.test(name) && !desired.includes(name)).toSorted(),
  family: ['nvidia-*', 'libnvidia-*', 'kmod-nvidia-*'],
  replaced: ['*nvidia*', 'libcuda*', 'libxnvctrl*', 'cuda-drivers*'],
  build: kernelBuild,
  refreshInitramfs: 'if command -v dracut >/dev/null; then dracut --force --regenerate-all; fi',
} as const satisfies Partial<DriverNames>;

/** The other kind of modules, prebuilt modules of one kernel, RPM Fusion's driver, and Amazon's. */
const inTheWay =
  /^(kmod-nvidia(-.+)?|akmod-nvidia.*|xorg-x11-drv-nvidia.*|nvidia-fabricmanager-\d+|nvidia-fabric-manager)$/;

/** `prepare`: adds the repository of DKMS. */
function runfileNeeds(prepare: NonNullable<RunfileNeeds['prepare']>): RunfileNeeds {
  return {
    packages: (uses) => [
      'dkms',
      'elfutils-libelf-devel',
      ...(uses.includes('graphics') ? ['pkgconf-pkg-config', 'libglvnd-devel'] : []),
    ],
    prepare,
  };
}

/** nvidia-driver-cuda-libs includes the libraries for video, but not those for EGL and Vulkan. */
function librariesFor(uses: readonly DriverUse[]): string[] {
  return uses.includes('graphics') ? ['nvidia-driver-libs'] : [];
}

/** NVSwitches need it. Its name lost the dash with 580. */
function fabricManager({ branch }: DriverSpec): string {
  return Number(branch) < 580 ? 'nvidia-fabric-manager' : 'nvidia-fabricmanager';
}

/** DKMS creates its key with its first build, or by `dkms generate_mok`. No distribution here signs NVIDIA's modules. */
const dkmsSigning: DriverNames['signing'] = {
  certificate: '/var/lib/dkms/mok.pub',
  create: 'sudo dnf install dkms mokutil && sudo dkms generate_mok',
  // Red Hat's guide for release 8 (managing kernels): modules are checked against the platform keyring too; Amazon Linux 2023 has
  // the same patch. No page confirms it for Oracle's kernel (UEK).
  trustsFirmware: (release) => !release.includes('uek'),
  covers: () => false,
  builtHere: (packages) => Object.keys(packages).some((name) => /^kmod-nvidia-.*dkms$/.test(name)),
  readyMade: () => undefined,
};

/** Empty: the packages that build modules install the headers of the newest kernel. */
const kernels: SystemNames['kernels'] = { x86_64: [], aarch64: [] };

/** Red Hat Enterprise Linux and its rebuilds. */
export function enterpriseLinux(epel: Epel): SystemNames {
  return {
    engine: { own: 'docker', conflicts },
    desktop,
    agentLibraries,
    kernels,
    driver: {
      ...driverCommons,
      signing: dkmsSigning,
      prepare: (_, site) => `${withBuilder}\n${withDkms(epel, site)}`,
      runfile: runfileNeeds((site) => withDkms(epel, site)),
    },
  };
}

/** Docker has no packages for it: the system's engine is installed and keeps its version. */
export const amazonLinux: SystemNames = {
  engine: { own: 'docker', conflicts: [], kept: true },
  desktop,
  agentLibraries,
  kernels,
  driver: {
    ...driverCommons,
    signing: dkmsSigning,
    prepare: (_, site) => withDkms(undefined, site),
    runfile: runfileNeeds((site) => withDkms(undefined, site)),
  },
};
