import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';
import { packageManagers } from '../../packages/distribution.ts';
import type { Installed } from '../../packages/package-manager.ts';
import { lockHolder } from '../../packages/shell.ts';
import { systems } from '../../packages/systems.ts';
import { upstream } from '../../packages/version.ts';

/** Patterns of package names that steps use, including those held with the driver. */
const packagePatterns: readonly string[] = [
  'docker*',
  'containerd*',
  'runc',
  'podman*',
  'kubelet',
  'ca-certificates',
  'cuda-drivers*',
  'cuda-keyring',
  'nvlsm',
  'linux-image-*',
  'linux-headers-*',
  'proxmox-default-*',
  'proxmox-kernel-*',
  'proxmox-headers-*',
  'pve-kernel-*',
  'pve-headers*',
  'linux-modules-nvidia-*',
  'libicu[0-9]*',
  'libssl[0-9]*',
  'libgssapi-krb5-*',
  'zlib1g',
  'libicu',
  'openssl-libs',
  'krb5-libs',
  'zlib',
  'zlib-ng-compat',
  'dkms',
  'zstd',
  'libelf-dev',
  'elfutils-libelf-devel',
  'pkg-config',
  'pkgconf*',
  'libglvnd-dev*',
  'kernel*',
  'kmod-nvidia*',
  'akmod-nvidia*',
  'xorg-x11-drv-nvidia*',
  ...new Set(systems.flatMap(({ names }) => names.driver.family)),
];

/** One probe for each package manager; absent ones find nothing. */
export const packagesProbes: readonly FactProbe<Installed>[] = packageManagers.map(({ name, installed }) => ({
  name: `packages-${name}`,
  facts: ['packages', 'unfinished', 'held', 'rebootRequired', 'driver', 'docker', 'toolkit'],
  byHand: installed.byHand,
  script: () => installed.script(packagePatterns),
  line: installed.line,
  parse: (output) => installed.parse(output),
}));

/** Merges the packages of all package managers of one host. */
export function merged(found: readonly Installed[]): Required<Installed> {
  return {
    packages: Object.fromEntries(found.flatMap(({ packages }) => Object.entries(packages))),
    unfinished: Object.fromEntries(found.flatMap((each) => Object.entries(each.unfinished ?? {}))),
    held: found.flatMap(({ held }) => held).toSorted(),
    awaitsReboot: found.some(({ awaitsReboot }) => awaitsReboot),
  };
}

/** Returns the upstream version of NVIDIA's installed user-space libraries. */
export function userspaceVersion(packages: Facts['packages']): string | undefined {
  const name = Object.keys(packages)
    .filter((each) => packageManagers.some(({ driverLibraries }) => driverLibraries.test(each)))
    .sort()
    .at(0);
  return name === undefined ? undefined : upstream(packages[name] ?? '');
}

/** Reads the holder of the package database: `unattended-upgr (pid 812) holds /var/lib/dpkg/lock-frontend`. */
export const packageLockProbe: FactProbe<string | undefined> = {
  name: 'package-lock',
  facts: ['packageLock'],
  byHand: 'cat /proc/locks',
  script: () => `${lockHolder(packageManagers.flatMap(({ locks }) => locks))}\npackage_lock_holder`,
  line: / \(pid \d+\) holds \//,
  parse: (output) => output.split('\n')[0] || undefined,
};
