import type { DriverSpec } from '../../inventory/fleet.ts';
import type { DriverUse, Flavor } from '../names.ts';

/** What NVIDIA's packages of some branches are called. `BRANCH` stands for the branch. */
interface DriverRow {
  /** The first branch with these names. */
  readonly from: number;
  /** Libraries and nvidia-smi. */
  readonly userspace: readonly string[];
  readonly modules: Readonly<Record<Flavor, string>>;
  /** The daemon that keeps the GPUs initialised between containers, under the names it has there. */
  readonly persistence: readonly string[];
  /** What containers can draw and en- and decode with only where the host has it. */
  readonly uses: Readonly<Record<DriverUse, readonly string[]>>;
  /** NVSwitches need it. */
  readonly fabricManager: string;
  /** Where the names were seen. */
  readonly source: string;
}

/** By family of systems: one row for each change of names, the newest last. */
export const driverRows = {
  debian: [
    {
      from: 0,
      userspace: ['nvidia-driver-cuda'],
      modules: { open: 'nvidia-kernel-open-dkms', proprietary: 'nvidia-kernel-dkms' },
      persistence: ['nvidia-persistenced'],
      uses: {
        graphics: ['nvidia-egl-icd', 'nvidia-vulkan-icd', 'libglx-nvidia0', 'libgles-nvidia2'],
        video: ['libnvidia-encode1', 'libnvcuvid1'],
      },
      fabricManager: 'nvidia-fabricmanager-BRANCH',
      source:
        '570.158.01-1 as pinned on a host of the debian12 repository; NVIDIA/apt-packaging-fabric-manager',
    },
    {
      from: 580,
      userspace: ['nvidia-driver-cuda'],
      modules: { open: 'nvidia-kernel-open-dkms', proprietary: 'nvidia-kernel-dkms' },
      persistence: ['nvidia-persistenced'],
      uses: {
        graphics: ['nvidia-egl-icd', 'nvidia-vulkan-icd', 'libglx-nvidia0', 'libgles-nvidia2'],
        video: ['libnvidia-encode1', 'libnvcuvid1'],
      },
      fabricManager: 'nvidia-fabricmanager',
      source: '580.105.08-1 as held, and 595.58.03-1 as listed by dpkg, on hosts of the debian13 repository',
    },
  ],
  ubuntu: [
    {
      from: 0,
      userspace: ['libnvidia-compute-BRANCH', 'nvidia-utils-BRANCH'],
      modules: { open: 'nvidia-dkms-BRANCH-open', proprietary: 'nvidia-dkms-BRANCH' },
      persistence: ['nvidia-compute-utils-BRANCH'],
      uses: {
        graphics: ['libnvidia-gl-BRANCH'],
        video: ['libnvidia-encode-BRANCH', 'libnvidia-decode-BRANCH'],
      },
      fabricManager: 'nvidia-fabricmanager-BRANCH',
      source: 'github.com/canonical/nvidia-graphics-drivers, 535-noble; NVIDIA/apt-packaging-fabric-manager',
    },
    {
      from: 580,
      userspace: ['libnvidia-compute-BRANCH', 'nvidia-utils-BRANCH'],
      modules: { open: 'nvidia-dkms-BRANCH-open', proprietary: 'nvidia-dkms-BRANCH' },
      persistence: ['nvidia-compute-utils-BRANCH', 'nvidia-persistenced'],
      uses: {
        graphics: ['libnvidia-gl-BRANCH'],
        video: ['libnvidia-encode-BRANCH', 'libnvidia-decode-BRANCH'],
      },
      fabricManager: 'nvidia-fabricmanager',
      source: '580.159.04-1ubuntu1 as installed from the ubuntu2404 repository; canonical 580-noble',
    },
    {
      from: 590,
      // nvidia-utils is a virtual name from here on.
      userspace: ['libnvidia-compute'],
      modules: { open: 'nvidia-dkms-open', proprietary: 'nvidia-dkms' },
      persistence: ['nvidia-persistenced'],
      uses: { graphics: ['libnvidia-gl'], video: ['libnvidia-encode', 'libnvidia-decode'] },
      fabricManager: 'nvidia-fabricmanager',
      source:
        'cuda-repo-ubuntu2404-13-2-local with 595.45.04, all its packages; driver installation guide, compute only',
    },
  ],
} as const satisfies Readonly<Record<string, readonly [DriverRow, ...DriverRow[]]>>;

export interface BranchNames {
  /** What is installed at one version. */
  packages(flavor: Flavor, nvswitches: number): string[];
  readonly persistence: readonly string[];
  extras(uses: readonly DriverUse[]): string[];
}

export function namesOf(family: keyof typeof driverRows, { branch }: DriverSpec): BranchNames {
  const rows: readonly [DriverRow, ...DriverRow[]] = driverRows[family];
  const row = rows.findLast(({ from }) => from <= Number(branch)) ?? rows[0];
  const named = (name: string): string => name.replaceAll('BRANCH', branch);
  return {
    packages: (flavor, nvswitches) =>
      [...row.userspace, row.modules[flavor], ...(nvswitches === 0 ? [] : [row.fabricManager])].map(named),
    persistence: row.persistence.map(named),
    extras: (uses) => uses.flatMap((use) => row.uses[use]).map(named),
  };
}

/**
 * What an installed driver lacks, whoever packaged it: `libnvidia-compute-580-server` has `libnvidia-gl-580-server`. Nothing
 * where its names are not in the table.
 */
export function lackingOf(
  family: keyof typeof driverRows,
  packages: Readonly<Record<string, string>>,
  uses: readonly DriverUse[],
): string[] {
  const rows: readonly DriverRow[] = driverRows[family];
  const found = rows.toReversed().flatMap((row) => {
    const [first = ''] = row.userspace;
    const pattern = new RegExp(`^${first.replace('BRANCH', String.raw`(\d+(?:-server)?)`)}$`);
    const match = Object.keys(packages)
      .map((name) => pattern.exec(name))
      .find((each) => each !== null);
    return match == null ? [] : [{ row, branch: match[1] ?? '' }];
  })[0];
  if (found === undefined) return [];
  return uses
    .flatMap((use) => found.row.uses[use])
    .map((name) => name.replaceAll('BRANCH', found.branch))
    .filter((name) => packages[name] === undefined);
}
