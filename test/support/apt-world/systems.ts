import type { Facts } from '../../../src/fleet/facts/facts.ts';

/** A package list that a system's sources lead to. */
export interface List {
  /** Below test/fixtures/apt, without its ending. */
  readonly fixture: string;
  /** As a source names it. */
  readonly uri: string;
  readonly suite: string;
  /** Empty in a flat repository, whose suite is `/`. */
  readonly component: string;
  readonly origin: string;
}

/** A release as it comes, and what the vendors offer for it. */
export interface System {
  readonly os: Facts['os'];
  /** `uname -r` of the kernel that its lists have. */
  readonly kernel: string;
  /** Its own archive. */
  readonly archive: readonly List[];
  readonly vendors: readonly List[];
  /** What Docker's versions end with. */
  readonly distribution: string;
  /** What every host of it has. */
  readonly base: readonly string[];
}

function debian(versionId: '12' | '13', codename: string, kernel: string): System {
  const uri = 'http://deb.debian.org/debian';
  const list = (component: string): List => ({
    fixture: `debian${versionId}-${component}`,
    uri,
    suite: codename,
    component,
    origin: 'Debian',
  });
  return {
    os: { id: 'debian', idLike: [], versionId, codename, pretty: `Debian GNU/Linux ${versionId}` },
    kernel,
    archive: ['main', 'contrib', 'non-free', 'non-free-firmware'].map(list),
    vendors: vendors('debian', `debian${versionId}`, codename),
    distribution: `debian.${versionId}~${codename}`,
    base: ['ca-certificates', 'linux-image-amd64', 'adduser'],
  };
}

function ubuntu(versionId: '22.04' | '24.04', codename: string, kernel: string): System {
  const folder = `ubuntu${versionId.replace('.', '')}`;
  const list = (component: string): List => ({
    fixture: `${folder}-${component}`,
    uri: 'http://archive.ubuntu.com/ubuntu',
    suite: codename,
    component,
    origin: 'Ubuntu',
  });
  return {
    os: { id: 'ubuntu', idLike: ['debian'], versionId, codename, pretty: `Ubuntu ${versionId} LTS` },
    kernel,
    archive: ['main', 'restricted', 'multiverse'].map(list),
    vendors: vendors('ubuntu', folder, codename),
    distribution: `ubuntu.${versionId}~${codename}`,
    base: ['ca-certificates', 'linux-image-generic', 'adduser'],
  };
}

function vendors(family: 'debian' | 'ubuntu', nvidia: string, codename: string): List[] {
  return [
    {
      fixture: `nvidia-${family}`,
      uri: `https://developer.download.nvidia.com/compute/cuda/repos/${nvidia}/x86_64`,
      suite: '/',
      component: '',
      origin: 'NVIDIA',
    },
    {
      fixture: 'docker',
      uri: `https://download.docker.com/linux/${family}`,
      suite: codename,
      component: 'stable',
      origin: 'Docker',
    },
    {
      fixture: 'toolkit',
      uri: 'https://nvidia.github.io/libnvidia-container/stable/deb/amd64',
      suite: '/',
      component: '',
      origin: 'NVIDIA',
    },
  ];
}

/** What the resolver's cases are played on. */
export const systems = {
  'Debian 12': debian('12', 'bookworm', '6.1.0-50-amd64'),
  'Debian 13': debian('13', 'trixie', '6.12.107+deb13-amd64'),
  'Ubuntu 22.04': ubuntu('22.04', 'jammy', '5.15.0-25-generic'),
  'Ubuntu 24.04': ubuntu('24.04', 'noble', '6.8.0-31-generic'),
} as const satisfies Readonly<Record<string, System>>;

export type SystemName = keyof typeof systems;
