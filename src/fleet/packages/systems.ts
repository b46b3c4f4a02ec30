import { lineOf } from '../../shared/base/support-dates.ts';
import { apt } from './apt/apt.ts';
import { debian, ubuntu } from './apt/names.ts';
import { dnf } from './dnf/dnf.ts';
import { amazonLinux, enterpriseLinux } from './dnf/names.ts';
import type { SystemNames } from './names.ts';
import type { Mount, PackageManager } from './package-manager.ts';
import type { System } from './vendors.ts';

/** One supported operating system. */
export interface Distribution extends Omit<System, 'machine'> {
  /** `ID` of os-release. */
  readonly id: string;
  /** `VERSION_ID` of os-release: `24.04`; `9` stands for 9.1, 9.2, … too. */
  readonly versionId: string;
  readonly packages: PackageManager;
  readonly names: SystemNames;
  /** Returns the container image of a release, `9` or as typed: `9.5`. A derivative may use the image of its parent. */
  readonly image: (release: string) => string;
  /** Folders of a subscribed machine that a container of the image reads, where the packages need a subscription. */
  readonly subscription?: readonly Mount[];
}

/**
 * The supported systems. NVIDIA's folders are those of its driver installation guide ("Choose an Installation Method"),
 * with the sha256 of their keyring packages as GoogleCloudPlatform/compute-gpu-installation has them; Docker's are those of
 * docs.docker.com/engine/install, where rebuilds of Red Hat's system use the folder of CentOS. Each image is the one that the
 * distribution itself publishes: Docker's official images of Rocky Linux end with 9.3 (rocky-linux/sig-cloud-instance-images#57).
 */
export const systems: readonly Distribution[] = [
  debianSystem('12', 'bookworm', 'e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d'),
  debianSystem('13', 'trixie', 'dd28f1f6ba0038180d6b23f846cefca1e3de4c9327751665241370bacea452a1'),
  ubuntuSystem('22.04', 'jammy', 'd93190d50b98ad4699ff40f4f7af50f16a76dac3bb8da1eaaf366d47898ff8df'),
  ubuntuSystem('24.04', 'noble', 'd2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba'),
  ubuntuSystem('26.04', 'resolute', 'f7f474b5f6a4adf987aa587920df00e713285958ef6a913dda1945a544a3099e'),
  ...(['8', '9', '10'] as const).flatMap((major) => [
    redHatSystem({
      id: 'rhel',
      major,
      image: (release) => (release === major ? `redhat/ubi${major}` : `redhat/ubi${major}:${release}`),
      docker: 'rhel',
      subscription: redHatSubscription(),
    }),
    redHatSystem({ id: 'rocky', major, image: tagOf('rockylinux/rockylinux') }),
    redHatSystem({ id: 'almalinux', major, image: tagOf('almalinux') }),
    redHatSystem({ id: 'ol', major, image: tagOf('oraclelinux'), epel: `oracle-epel-release-el${major}` }),
  ]),
  redHatSystem({ id: 'centos', major: '9', image: () => 'quay.io/centos/centos:stream9' }),
  redHatSystem({ id: 'centos', major: '10', image: () => 'quay.io/centos/centos:stream10' }),
  {
    id: 'amzn',
    versionId: '2023',
    packages: dnf,
    names: amazonLinux,
    image: tagOf('amazonlinux'),
    nvidia: { folder: 'amzn2023' },
    docker: { folder: 'centos', release: '9' },
  },
];

/** Systems that users ask for and that are refused, and why. Without `versionId`: each release. */
export const refusedSystems: readonly (Pick<Distribution, 'id'> &
  Partial<Pick<Distribution, 'versionId'>> & { readonly why: string })[] = [
  {
    id: 'ubuntu',
    versionId: '20.04',
    why: 'it gets updates by a subscription only (ESM), and NVIDIA and Docker have no current packages for it',
  },
  {
    id: 'debian',
    versionId: '11',
    why: 'its support has ended, and NVIDIA has no current driver packages for it',
  },
  ...['rhel 7', 'centos 7', 'centos 8', 'amzn 2'].map((name) => {
    const [id = '', versionId = ''] = name.split(' ');
    return { id, versionId, why: 'its support has ended' };
  }),
  {
    id: 'fedora',
    why: 'a release has support for 13 months, and its kernels are newer than those that drivers are made for',
  },
  ...['sles', 'sled', 'opensuse-leap', 'opensuse-tumbleweed'].map((id) => ({
    id,
    why: 'its package manager (zypper) is not supported',
  })),
];

function tagOf(repository: string): Distribution['image'] {
  return (release) => `${repository}:${release}`;
}

function debianSystem(versionId: string, release: string, keySha256: string): Distribution {
  return {
    id: 'debian',
    versionId,
    packages: apt,
    // The branch of Debian's driver packages, in its non-free component.
    names: debian(lineOf('distribution', `debian ${versionId}`)?.ownDriver ?? ''),
    image: tagOf('debian'),
    nvidia: { folder: `debian${versionId}`, keySha256 },
    docker: { folder: 'debian', release },
  };
}

function ubuntuSystem(versionId: string, release: string, keySha256: string): Distribution {
  return {
    id: 'ubuntu',
    versionId,
    packages: apt,
    names: ubuntu,
    image: tagOf('ubuntu'),
    nvidia: { folder: `ubuntu${versionId.replace('.', '')}`, keySha256 },
    docker: { folder: 'ubuntu', release },
  };
}

interface RedHatSystem extends Pick<Distribution, 'id' | 'image' | 'subscription'> {
  readonly major: '8' | '9' | '10';
  /** Docker's folder; default: that of CentOS. */
  readonly docker?: string;
  /** The system's package that adds EPEL; default: `epel-release`. */
  readonly epel?: string;
}

function redHatSystem({
  major,
  docker = 'centos',
  epel = 'epel-release',
  ...system
}: RedHatSystem): Distribution {
  return {
    ...system,
    versionId: major,
    packages: dnf,
    names: enterpriseLinux({ release: epel, major }),
    nvidia: { folder: `rhel${major}` },
    docker: { folder: docker, release: major },
  };
}

/**
 * Red Hat's image lacks kernel headers. dnf's plugin in the image reads the subscription of the machine that it runs on
 * (containers-common, `mounts.conf`).
 */
function redHatSubscription(): readonly Mount[] {
  return [
    { source: '/etc/pki/entitlement', target: '/run/secrets/etc-pki-entitlement' },
    { source: '/etc/rhsm', target: '/run/secrets/rhsm' },
  ];
}
