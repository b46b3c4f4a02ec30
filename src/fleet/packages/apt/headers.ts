import { quote, sh } from '../../../shared/base/shell.ts';
import { bringNeeded, kernelsToBuild, needFunctions, type Build, type BuildHost } from '../names.ts';

/**
 * Packages that depend on the newest kernel of a flavour. Each has a twin for the headers: Debian's `linux-image-amd64`
 * and `-cloud-amd64`, Ubuntu's `-generic`, `-generic-hwe-24.04`, `-virtual`, `-lowlatency`, and those of clouds. The images
 * do not depend on headers: without the twin DKMS cannot build after the first kernel upgrade.
 */
const flavor =
  /^linux-image-((?:rt-|cloud-)?(?:amd64|arm64)(?:-16k)?|(?:generic|virtual|lowlatency|realtime|nvidia|aws|azure|gcp|gke|gkeop|oracle|ibm|kvm|intel|oem)(?:-64k)?(?:-hwe|-lts)?(?:-\d+\.\d+[a-z]?)?(?:-edge)?)$/;

/**
 * Returns the headers of the running kernel (unless only the next one matters) and of the kernel that boots next, the packages
 * that install those of later kernels, the compiler, and make, which dkms only recommends from 3.2 on. A held kernel is not
 * upgraded and needs no such package.
 */
export function kernelBuild(host: BuildHost, scope: 'all' | 'next'): Build {
  const { lacking, next } = kernelsToBuild(host, scope, isPackaged);
  const twins = Object.keys(host.packages)
    .filter((name) => !host.held.includes(name))
    .flatMap((image) => {
      const [, name] = flavor.exec(image) ?? [];
      const headers = `linux-headers-${name}`;
      return name === undefined || host.packages[headers] !== undefined ? [] : [{ image, headers }];
    });
  const tools = host.lacksToBuild.filter((tool) => !numbered.test(tool));
  const packages = [
    ...lacking.map((release) => `linux-headers-${release}`),
    ...twins.map(({ headers }) => headers),
    ...tools,
  ];
  const lines = [
    ...lacking.map((release) => needHeaders(release, next)),
    ...twins.map(({ image, headers }) => sh`follow ${image} ${headers}`),
    ...tools.map((tool) => sh`need ${tool} ${tool} 'complete the mirror'`),
    ...host.lacksToBuild.filter((tool) => numbered.test(tool)).map((tool) => sh`want ${tool}`),
  ];
  const script = lines.length === 0 ? '' : [needFunctions, followFunction, ...lines, bringNeeded].join('\n');
  return { packages, script, next };
}

/** The compiler that built the kernel: optional, because the system's may work too. */
const numbered = /-\d+$/;

function isPackaged(release: string, packages: BuildHost['packages']): boolean {
  return ['', 'unsigned-'].some((kind) => packages[`linux-image-${kind}${release}`] !== undefined);
}

function needHeaders(release: string, next: Build['next']): string {
  const upgrade =
    'upgrade the kernel (apt-get install linux-image-generic on Ubuntu, linux-image-amd64 on Debian)';
  const way =
    next === undefined
      ? `${upgrade}, reboot, run again`
      : release === next.release
        ? `complete the mirror, or ${upgrade}: the newest has its headers`
        : `reboot into Linux ${next.release}, which is installed, and run again`;
  return sh`need ${`linux-headers-${release}`} ${`the headers of Linux ${release}`} ${way}`;
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
