import type { Facts } from '../facts/facts.ts';

/** One supported operating system: the names that each vendor has for it. */
interface Distribution {
  readonly id: string;
  readonly versionId: string;
  readonly codename: string;
  readonly packages: 'apt';
  /** Folder in NVIDIA's CUDA repositories. */
  readonly nvidia: string;
  /** sha256 of `cuda-keyring_1.1-1_all.deb` in its x86_64 folder. */
  readonly keyringSha256: string;
  /** Folder in Docker's repositories. */
  readonly docker: string;
}

const distributions: readonly Distribution[] = [
  {
    id: 'debian',
    versionId: '12',
    codename: 'bookworm',
    packages: 'apt',
    nvidia: 'debian12',
    keyringSha256: 'e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d',
    docker: 'debian',
  },
  {
    id: 'debian',
    versionId: '13',
    codename: 'trixie',
    packages: 'apt',
    nvidia: 'debian13',
    keyringSha256: 'dd28f1f6ba0038180d6b23f846cefca1e3de4c9327751665241370bacea452a1',
    docker: 'debian',
  },
  {
    id: 'ubuntu',
    versionId: '22.04',
    codename: 'jammy',
    packages: 'apt',
    nvidia: 'ubuntu2204',
    keyringSha256: 'd93190d50b98ad4699ff40f4f7af50f16a76dac3bb8da1eaaf366d47898ff8df',
    docker: 'ubuntu',
  },
  {
    id: 'ubuntu',
    versionId: '24.04',
    codename: 'noble',
    packages: 'apt',
    nvidia: 'ubuntu2404',
    keyringSha256: 'd2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba',
    docker: 'ubuntu',
  },
];

/** `uname -m` → the architecture's names at dpkg and in NVIDIA's repositories. */
const architectures: Readonly<Record<string, { readonly dpkg: string; readonly nvidia: string }>> = {
  x86_64: { dpkg: 'amd64', nvidia: 'x86_64' },
  aarch64: { dpkg: 'arm64', nvidia: 'sbsa' },
};

/** What a step needs to know of a supported host. */
export interface Platform extends Distribution {
  readonly arch: { readonly dpkg: string; readonly nvidia: string };
}

/** Undefined when the host's system, release or architecture is not in the tables. */
export function platformOf(facts: Facts): Platform | undefined {
  const arch = architectures[facts.arch];
  const found = distributions.find(
    ({ id, versionId }) => id === facts.os.id && versionId === facts.os.versionId,
  );
  return found === undefined || arch === undefined ? undefined : { ...found, arch };
}

/** The refusal of a host that is not in the tables, without its step. */
export function unsupported(facts: Facts): { readonly what: string; readonly next: string } {
  const names = distributions.map(({ id, versionId }) => `${id} ${versionId}`).join(', ');
  return {
    what: `${facts.os.pretty} on ${facts.arch} is not supported`,
    next: `use ${names} on ${Object.keys(architectures).join(' or ')}, or leave this host out with --limit`,
  };
}
