import type { DriverSpec } from '../../inventory/fleet.ts';
import type { DriverUse, Flavor } from '../names.ts';

/** Package names of some driver branches. `BRANCH` stands for the branch. */
interface DriverRow {
  /** The first branch with these names. */
  readonly from: number;
  /** Libraries and nvidia-smi. */
  readonly userspace: readonly string[];
  readonly modules: Readonly<Record<Flavor, string>>;
  /**
   * Installed if a source offers it at the same version: the daemon that keeps the GPUs initialised between containers, and
   * parts that NVIDIA's packages include in one.
   */
  readonly optional: readonly string[];
  /** Installed at the newest version of the branch, because it has separate version numbers. */
  readonly beside?: readonly string[];
  /** Libraries that the host must have, so that containers can draw, encode and decode. */
  readonly uses: Readonly<Record<DriverUse, readonly string[]>>;
  /** NVSwitches need it. Undefined: there is none, and plans refuse hosts with NVSwitches. */
  readonly fabricManager?: string;
  /** Source of the names. */
  readonly source: string;
}

/** The packager: NVIDIA for a family of systems, or the family itself. */
type Family = 'debian' | 'ubuntu' | 'debianOwn' | 'ubuntuOwn';

/** A row for each change of names, the newest last. */
export const driverRows = {
  debian: [
    {
      from: 0,
      userspace: ['nvidia-driver-cuda'],
      modules: { open: 'nvidia-kernel-open-dkms', proprietary: 'nvidia-kernel-dkms' },
      optional: ['nvidia-persistenced'],
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
      optional: ['nvidia-persistenced'],
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
      optional: ['nvidia-compute-utils-BRANCH'],
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
      optional: ['nvidia-compute-utils-BRANCH', 'nvidia-persistenced'],
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
      optional: ['nvidia-persistenced'],
      uses: { graphics: ['libnvidia-gl'], video: ['libnvidia-encode', 'libnvidia-decode'] },
      fabricManager: 'nvidia-fabricmanager',
      source:
        'cuda-repo-ubuntu2404-13-2-local with 595.45.04, all its packages; driver installation guide, compute only',
    },
  ],
  debianOwn: [
    {
      from: 0,
      userspace: ['nvidia-smi', 'libcuda1'],
      modules: { open: 'nvidia-open-kernel-dkms', proprietary: 'nvidia-kernel-dkms' },
      optional: ['nvidia-opencl-icd'],
      // Of another source package: 535.171.04 beside 535.261.03.
      beside: ['nvidia-persistenced'],
      uses: {
        graphics: ['nvidia-egl-icd', 'nvidia-vulkan-icd', 'libglx-nvidia0', 'libgles-nvidia2'],
        video: ['libnvidia-encode1', 'libnvcuvid1'],
      },
      source: "Debian's own lists: 535.261.03-1 in bookworm, 550.163.01-2 in trixie (contrib and non-free)",
    },
  ],
  ubuntuOwn: [
    {
      from: 0,
      userspace: ['libnvidia-compute-BRANCH-server', 'nvidia-utils-BRANCH-server'],
      modules: { open: 'nvidia-dkms-BRANCH-server-open', proprietary: 'nvidia-dkms-BRANCH-server' },
      optional: ['nvidia-compute-utils-BRANCH-server'],
      uses: {
        graphics: ['libnvidia-gl-BRANCH-server'],
        video: ['libnvidia-encode-BRANCH-server', 'libnvidia-decode-BRANCH-server'],
      },
      fabricManager: 'nvidia-fabricmanager-BRANCH',
      source:
        'github.com/canonical/nvidia-graphics-drivers, 535-server-noble and 580-server-noble; packages.ubuntu.com: nvidia-fabricmanager-580 of multiverse wants the kernel-common-580-server of its own release',
    },
  ],
} as const satisfies Readonly<Record<Family, readonly [DriverRow, ...DriverRow[]]>>;

export interface BranchNames {
  /** Packages that are installed at one version. */
  packages(flavor: Flavor, nvswitches: number): string[];
  readonly optional: readonly string[];
  readonly beside: readonly string[];
  extras(uses: readonly DriverUse[]): string[];
}

export function namesOf(family: Family, { branch }: Pick<DriverSpec, 'branch'>): BranchNames {
  const rows: readonly [DriverRow, ...DriverRow[]] = driverRows[family];
  const row = rows.findLast(({ from }) => from <= Number(branch)) ?? rows[0];
  const named = (name: string): string => name.replaceAll('BRANCH', branch);
  return {
    packages: (flavor, nvswitches) => [
      ...[...row.userspace, row.modules[flavor]].map(named),
      ...(nvswitches === 0 || row.fabricManager === undefined ? [] : [named(row.fabricManager)]),
    ],
    optional: row.optional.map(named),
    beside: row.beside ?? [],
    extras: (uses) => uses.flatMap((use) => row.uses[use]).map(named),
  };
}

/**
 * Returns the libraries that an installed driver of any packager lacks: `libnvidia-compute-580-server` needs
 * `libnvidia-gl-580-server`. Empty if the driver's names are not in the table.
 */
export function lackingOf(
  families: readonly Family[],
  packages: Readonly<Record<string, string>>,
  uses: readonly DriverUse[],
): string[] {
  const rows = families.flatMap((family): readonly DriverRow[] => driverRows[family]);
  const found = rows.toReversed().flatMap((row) => {
    const [first = ''] = row.userspace;
    const pattern = new RegExp(`^${first.replace('BRANCH', String.raw`(\d+)`)}$`);
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
