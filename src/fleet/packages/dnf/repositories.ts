import { sh } from '../../../shared/base/shell.ts';
import type { Site } from '../vendors.ts';

/** EPEL for a system: it has DKMS, which no release of Red Hat has. */
export interface Epel {
  /** The system's package that adds the repository. */
  readonly release: string;
  /** Release number in EPEL. */
  readonly major: '8' | '9' | '10';
}

const base = 'https://dl.fedoraproject.org/pub/epel';

/**
 * sha256 of RPM-GPG-KEY-EPEL-N, as rpm-software-management/distribution-gpg-keys and voxpupuli/puppet-epel both have it. The
 * keys' fingerprints end in 2F86D6A1, 3228467C and E37ED158.
 */
const keys = {
  8: 'cd1db21a863185127f2e3b264c97fb1c6c44c316385707999041ea475c110d1c',
  9: 'fcf0eab4f05a1c0de6363ac4b707600a27a9d774e9b491059e59e6921b255a84',
  10: 'de390fc168eae5ab2852e9e93d34a0b9ddf05cf9ce90ee28d97de26a4b1f6b93',
} as const;

const id = 'azp-fleet-epel';
const epelFile = `/etc/yum.repos.d/${id}.repo`;
const epelKeyFile = `/etc/pki/rpm-gpg/${id}`;
export const epelFiles: readonly string[] = [epelFile, epelKeyFile];

/**
 * Returns shell text for `before` of the driver's transaction. If no source offers dkms, it adds EPEL: from the site's mirror, else
 * by its release package from the system's sources, or (Red Hat has no such package) from the Fedora project. It ends the script
 * if EPEL has no dkms either. It needs `more_packages`, `more_source` and `refuse`.
 */
export function withDkms(epel: Epel | undefined, { mirrors }: Pick<Site, 'mirrors'>): string {
  const otherwise = 'put dkms into a package source of the host, and run again';
  if (epel === undefined) {
    return sh`if [ -z "$(installed dkms)" ] && [ -z "$(offered dkms)" ]; then
  fail 'no package source offers dkms, which builds the driver' dkms none ${otherwise}
fi`;
  }
  const fix =
    mirrors.epel === undefined
      ? `set mirrors.epel in the inventory to a mirror of ${base}`
      : 'check that the EPEL mirror in the inventory (mirrors.epel) answers';
  return `if [ -z "$(installed dkms)" ] && [ -z "$(offered dkms)" ]; then
  line=
${mirrors.epel === undefined ? releasePackage(epel) : mirrored(epel, mirrors.epel)}
  [ -n "$(offered dkms)" ] ||
    refuse 'no package source offers dkms, which builds the driver' 'dkms, which EPEL has' "\${line:-none does}" \\
      ${sh`${`${fix}, or ${otherwise}`}`}
fi`;
}

function releasePackage({ release, major }: Epel): string {
  return sh`  if [ -n "$(offered ${release})" ]; then
    more_packages ${release}
  else
    more_packages ${`${base}/epel-release-latest-${major}.noarch.rpm`}
  fi`;
}

/** Adds a mirror of EPEL. The key must have the known sha256, wherever it is from. */
function mirrored({ major }: Epel, mirror: string): string {
  const text = `# Written by azp-fleet.
[${id}]
name=${id}
baseurl=${mirror}/${major}/Everything/$basearch
enabled=1
gpgcheck=1
repo_gpgcheck=0
gpgkey=file://${epelKeyFile}
`;
  return sh`  more_source ${id} ${epelFile} ${text} ${`${mirror}/RPM-GPG-KEY-EPEL-${major}`} ${epelKeyFile} ${keys[major]}`;
}

/** Dependencies of NVIDIA's packages (NVIDIA/yum-packaging-nvidia-driver, `cuda`) that some releases have only in a disabled repository. */
const leansOn: readonly string[] = ['ocl-icd', 'opencl-filesystem'];

/** Repositories for builders, disabled by default: of Rocky and Alma from 9 on, of their release 8, of Oracle, of Red Hat. */
const builders =
  'crb|powertools|ol[0-9]+_codeready_builder|codeready-builder-for-rhel-[0-9]+-[a-z0-9_]+-rpms';

/**
 * Shell text for `before` of the driver's transaction: if no source offers the dependencies, it enables the repository for
 * builders, if the host has one. It needs `switch_on`. dnf itself names packages that are still missing.
 */
export const withBuilder = sh`for name in ${leansOn}; do
  if [ -z "$(installed "$name")" ] && [ -z "$(offered "$name")" ]; then
    builder=$(dnf_run -q repolist --disabled 2>/dev/null | awk '{ print $1 }' | grep -Ex ${builders} | head -n 1)
    if [ -n "$builder" ]; then switch_on "$builder"; fi
  fi
done`;
