import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { DriverSpec, Mirrors } from '../../inventory/fleet.ts';
import { quote } from '../../base/shell.ts';
import type { AptSource } from '../apt/source.ts';
import type { Platform } from '../distribution.ts';
import type { Flavor } from './flavor.ts';

/**
 * The compute-only packages, all at one version: no display server comes with them.
 * Ubuntu's names carry the branch up to 580, and lost it with 590.
 */
export function driverPackages(
  platform: Platform,
  spec: DriverSpec,
  flavor: Flavor,
  nvswitches: number,
): string[] {
  const fabric =
    nvswitches === 0
      ? []
      : [Number(spec.branch) < 580 ? `nvidia-fabricmanager-${spec.branch}` : 'nvidia-fabricmanager'];
  if (platform.id === 'debian') {
    const kernel = flavor === 'open' ? 'nvidia-kernel-open-dkms' : 'nvidia-kernel-dkms';
    return ['nvidia-driver-cuda', kernel, ...fabric];
  }
  const suffix = Number(spec.branch) < 590 ? `-${spec.branch}` : '';
  const kernel = `nvidia-dkms${suffix}${flavor === 'open' ? '-open' : ''}`;
  return [`libnvidia-compute${suffix}`, `nvidia-utils${suffix}`, kernel, ...fabric];
}

/** The daemon that keeps the GPUs initialised between containers. Not every branch has it as a package of its own. */
export function optionalPackages(platform: Platform, spec: DriverSpec): string[] {
  const withBranch = platform.id === 'ubuntu' && Number(spec.branch) < 590;
  return ['nvidia-persistenced', ...(withBranch ? [`nvidia-compute-utils-${spec.branch}`] : [])];
}

/** Keeps apt on the branch, or on the version, whatever appears in the repository. */
export function pinningPackage(spec: DriverSpec): string {
  return `nvidia-driver-pinning-${spec.version ?? spec.branch}`;
}

/** Installed packages of another branch, kind or pin, which would be in the way. */
export function obsoletePackages(facts: Facts, spec: DriverSpec, wanted: readonly string[]): string[] {
  const keep = new Set([...wanted, pinningPackage(spec)]);
  const ours =
    /^nvidia-(driver-pinning-.+|(kernel|dkms|headless|utils|driver|fabricmanager)(-.*)?-\d{3}(-server)?(-open)?|kernel(-open)?-dkms|dkms(-\d{3})?(-open)?)$|^libnvidia-compute-\d{3}(-server)?$/;
  return Object.keys(facts.packages)
    .filter((name) => ours.test(name) && !keep.has(name))
    .sort();
}

/**
 * NVIDIA's repository for this system. The key comes out of the vendor's keyring package, whose sha256 is known for
 * x86_64; elsewhere, and on a site's mirror, the transport or the mirror is trusted.
 */
export function driverSource(platform: Platform, mirrors: Mirrors): AptSource {
  const base = mirrors.nvidiaDriver ?? 'https://developer.download.nvidia.com/compute/cuda/repos';
  const uri = `${base}/${platform.nvidia}/${platform.arch.nvidia}`;
  const pinned = mirrors.nvidiaDriver === undefined && platform.arch.nvidia === 'x86_64';
  return {
    file: managedFiles.driverSource,
    uri,
    suite: '/',
    components: '',
    arch: platform.arch.dpkg,
    keyFile: managedFiles.driverKey,
    fetchKey: `download ${quote(`${uri}/cuda-keyring_1.1-1_all.deb`)} "$work/keyring.deb"${pinned ? ` ${platform.keyringSha256}` : ''}
dpkg-deb --fsys-tarfile "$work/keyring.deb" | tar -xOf - ./usr/share/keyrings/cuda-archive-keyring.gpg >"$key"`,
    supersedes: String.raw`developer\.download\.nvidia\.(com|cn)/compute/cuda/repos`,
  };
}
