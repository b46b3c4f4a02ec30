import { apt } from './apt/apt.ts';
import { debian } from './apt/debian.ts';
import { ubuntu } from './apt/ubuntu.ts';
import type { SystemNames } from './names.ts';
import type { PackageManager } from './package-manager.ts';
import type { Machine, System } from './system.ts';

/** One supported operating system. */
interface Distribution extends Omit<System, 'machine'> {
  /** As in os-release. */
  readonly id: string;
  /** `24.04`; `9` stands for 9.1, 9.2, … as well. */
  readonly versionId: string;
  readonly packages: PackageManager;
  readonly names: SystemNames;
}

const distributions: readonly Distribution[] = [
  {
    id: 'debian',
    versionId: '12',
    packages: apt,
    names: debian,
    nvidia: {
      folder: 'debian12',
      keySha256: 'e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d',
    },
    docker: { folder: 'debian', release: 'bookworm' },
  },
  {
    id: 'debian',
    versionId: '13',
    packages: apt,
    names: debian,
    nvidia: {
      folder: 'debian13',
      keySha256: 'dd28f1f6ba0038180d6b23f846cefca1e3de4c9327751665241370bacea452a1',
    },
    docker: { folder: 'debian', release: 'trixie' },
  },
  {
    id: 'ubuntu',
    versionId: '22.04',
    packages: apt,
    names: ubuntu,
    nvidia: {
      folder: 'ubuntu2204',
      keySha256: 'd93190d50b98ad4699ff40f4f7af50f16a76dac3bb8da1eaaf366d47898ff8df',
    },
    docker: { folder: 'ubuntu', release: 'jammy' },
  },
  {
    id: 'ubuntu',
    versionId: '24.04',
    packages: apt,
    names: ubuntu,
    nvidia: {
      folder: 'ubuntu2404',
      keySha256: 'd2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba',
    },
    docker: { folder: 'ubuntu', release: 'noble' },
  },
];

/** Those of all supported systems, each once. */
export const packageManagers: readonly PackageManager[] = [
  ...new Set(distributions.map(({ packages }) => packages)),
];

const machines: readonly Machine[] = ['x86_64', 'aarch64'];

/** What a step needs to know of a supported host. */
export interface Platform extends Distribution, System {}

/** What a host says that it is. */
interface Host {
  readonly os: { readonly id: string; readonly versionId: string; readonly pretty: string };
  /** `uname -m` */
  readonly arch: string;
}

/** Undefined when the host's system, release or architecture is not in the tables. */
export function platformOf({ os, arch }: Host): Platform | undefined {
  const machine = machines.find((name) => name === arch);
  const found = distributions.find(
    ({ id, versionId }) => id === os.id && `${os.versionId}.`.startsWith(`${versionId}.`),
  );
  return found === undefined || machine === undefined ? undefined : { ...found, machine };
}

/** The refusal of a host that is not in the tables, without its step. */
export function unsupported({ os, arch }: Host): { readonly what: string; readonly next: string } {
  const names = distributions.map(({ id, versionId }) => `${id} ${versionId}`).join(', ');
  return {
    what: `${os.pretty} on ${arch} is not supported`,
    next: `use ${names} on ${machines.join(' or ')}, or leave this host out with --limit`,
  };
}
