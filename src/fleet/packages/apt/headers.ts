import { quote, sh } from '../../../shared/base/shell.ts';
import { bringNeeded, kernelsToBuild, needFunctions, type Build, type BuildHost } from '../names.ts';

/**
 * Packages that depend on the newest kernel of a flavour. Each has a twin for the headers: Debian's `linux-image-amd64`
 * and `-cloud-amd64`, Ubuntu's `-generic`, `-generic-hwe-24.04`, `-virtual`, `-lowlatency`, and those of clouds. The images
 * do not depend on headers: without the twin DKMS cannot build after the first kernel upgrade.
 */
const flavor =
  /^linux-image-((?:rt-|cloud-)?(?:amd64|arm64)(?:-16k)?|(?:generic|virtual|lowlatency|realtime|nvidia|aws|azure|gcp|gke|gkeop|oracle|ibm|kvm|intel|oem)(?:-64k)?(?:-hwe|-lts)?(?:-\d+\.\d+[a-z]?)?(?:-edge)?)$/;
/** The same of Proxmox VE: `proxmox-default-kernel`, `proxmox-kernel-6.8`, until its release 7 `pve-kernel-5.15`. */
const proxmoxFlavor = /^(proxmox-default|proxmox|pve)-kernel((?:-\d+\.\d+)?)$/;

/** Starts of the names of a kernel's package and of its headers. Proxmox VE renamed its own with release 8. */
const kernelPackages = [
  ['linux-image-', 'linux-headers-'],
  ['linux-image-unsigned-', 'linux-headers-'],
  ['proxmox-kernel-', 'proxmox-headers-'],
  ['pve-kernel-', 'pve-headers-'],
] as const;

/** Returns the package with the headers of a kernel, by the package that owns the kernel; undefined: none does. */
function ownedHeaders(release: string, packages: BuildHost['packages']): string | undefined {
  const owner = kernelPackages.find(([image]) =>
    ['', '-signed', '-unsigned'].some((kind) => packages[`${image}${release}${kind}`] !== undefined),
  );
  return owner && `${owner[1]}${release}`;
}

/** Returns the package whose later versions have the headers for those of `image`; undefined: it is no such package. */
function twinOf(image: string): string | undefined {
  const [, proxmox, series = ''] = proxmoxFlavor.exec(image) ?? [];
  if (proxmox !== undefined) return `${proxmox}-headers${series}`;
  const [, name] = flavor.exec(image) ?? [];
  return name && `linux-headers-${name}`;
}

/**
 * Returns the headers of the running kernel (unless only the next one matters) and of the kernel that boots next, the packages
 * that install those of later kernels, the compiler, and make, which dkms only recommends from 3.2 on. A held kernel is not
 * upgraded and needs no such package.
 */
export function kernelBuild(host: BuildHost, scope: 'all' | 'next'): Build {
  const { lacking: releases, next } = kernelsToBuild(
    host,
    scope,
    (release) => ownedHeaders(release, host.packages) !== undefined,
  );
  const lacking = releases.map((release) => ({
    release,
    headers: ownedHeaders(release, host.packages) ?? `linux-headers-${release}`,
  }));
  const twins = Object.keys(host.packages)
    .filter((name) => !host.held.includes(name))
    .flatMap((image) => {
      const headers = twinOf(image);
      return headers === undefined || host.packages[headers] !== undefined ? [] : [{ image, headers }];
    });
  const tools = host.lacksToBuild.filter((tool) => !numbered.test(tool));
  const compilers = host.lacksToBuild.filter((tool) => numbered.test(tool));
  const packages = [
    ...lacking.map(({ headers }) => headers),
    ...twins.map(({ headers }) => headers),
    ...tools,
  ];
  const lines = [
    ...lacking.map(({ release, headers }) => needHeaders(release, headers, next)),
    ...twins.map(({ image, headers }) => sh`follow ${image} ${headers}`),
    ...tools.map((tool) => sh`need ${tool} ${tool} 'complete the mirror'`),
    ...compilers.map((tool) => sh`want ${tool}`),
  ];
  const script =
    lines.length === 0
      ? ''
      : [needFunctions, followFunction, sh`know ${[...packages, ...compilers]}`, ...lines, bringNeeded].join(
          '\n',
        );
  return { packages, script, next };
}

/** The compiler that built the kernel: optional, because the system's may work too. */
const numbered = /-\d+$/;

function needHeaders(release: string, headers: string, next: Build['next']): string {
  const upgrade = release.endsWith('-pve')
    ? 'upgrade the kernel (apt-get install proxmox-default-kernel)'
    : 'upgrade the kernel (apt-get install linux-image-generic on Ubuntu, linux-image-amd64 on Debian)';
  const way =
    next === undefined
      ? `${upgrade}, reboot, run again`
      : release === next.release
        ? `complete the mirror, or ${upgrade}: the newest has its headers`
        : `reboot into Linux ${next.release}, which is installed, and run again`;
  return sh`need ${headers} ${`the headers of Linux ${release}`} ${way}`;
}

/**
 * Shell function `follow IMAGE HEADERS`: adds the headers at the version that the image is upgraded to. With a kernel of
 * backports, the newest headers are others.
 */
const followFunction = `follow() {
  candidate=$(apt-cache policy "$1" | sed -n 's/^ *Candidate: //p')
  if offered "$2" | grep -qxF "$candidate"; then
    build="$build $2=$candidate"
  else
    need "$2" "the headers of $1" ${quote('complete the mirror')}
  fi
}`;
