/**
 * GPU generations by PCI device id, oldest first. A range ends at the next one. Source: the public pci.ids database of
 * 2025-06-09, and public listings of lspci for 3182 (GB110, B300).
 */
export interface Generation {
  readonly name: string;
  /** The lowest compute capability of its chips, by NVIDIA's page "CUDA GPUs". */
  readonly capability: string;
  /** The kernel modules that support it. */
  readonly modules: 'proprietary' | 'either' | 'open';
  /** First and last driver branch, by NVIDIA's release notes; undefined: no limit that matters here. */
  readonly firstBranch?: number;
  readonly lastBranch?: number;
  /** NVIDIA's repositories no longer have its last branch; a distribution may. */
  readonly isRetired?: true;
  /** Newer than this table: no branch is known, and the inventory must name one. */
  readonly isNewer?: true;
}

/**
 * Branches with open and with proprietary modules. Open ones exist since 515; before 545.23.06 they drive only data-centre GPUs
 * by default (NVreg_OpenRmEnableUnsupportedGpus, in the README of each). Proprietary ones end with 610: the driver guide of
 * later branches says that they were removed.
 */
export const openBranches = { first: 515, anyGpu: 545 } as const;
export const proprietaryBranches = { last: 610 } as const;

/** Fermi, and everything older. */
const fermi: Generation = {
  name: 'Fermi',
  capability: '2.0',
  modules: 'proprietary',
  lastBranch: 390,
  isRetired: true,
};
const kepler: Generation = {
  name: 'Kepler',
  capability: '3.5',
  modules: 'proprietary',
  lastBranch: 470,
  isRetired: true,
};
const maxwell: Generation = { name: 'Maxwell', capability: '5.0', modules: 'proprietary', lastBranch: 580 };
const pascal: Generation = { name: 'Pascal', capability: '6.0', modules: 'proprietary', lastBranch: 580 };
const volta: Generation = { name: 'Volta', capability: '7.0', modules: 'proprietary', lastBranch: 580 };
const turing: Generation = { name: 'Turing', capability: '7.5', modules: 'either', firstBranch: 418 };
const ampere: Generation = { name: 'Ampere', capability: '8.0', modules: 'either', firstBranch: 450 };
const hopper: Generation = { name: 'Hopper', capability: '9.0', modules: 'either', firstBranch: 525 };
const graceHopper: Generation = {
  name: 'Grace Hopper',
  capability: '9.0',
  modules: 'open',
  firstBranch: 525,
};
const ada: Generation = { name: 'Ada', capability: '8.9', modules: 'either', firstBranch: 520 };
const blackwell: Generation = { name: 'Blackwell', capability: '10.0', modules: 'open', firstBranch: 570 };

/** Open modules: no driver after 610 has others. Its capability is at least the last one that is known. */
const newer: Generation = { name: 'newer', capability: '10.0', modules: 'open', isNewer: true };

/** First device id of each range. 3000 to 30ff, in no database that was read, may be Rubin. */
const ranges: readonly (readonly [number, Generation])[] = [
  [0x0000, fermi],
  [0x0fa0, kepler],
  [0x1040, fermi],
  [0x1180, kepler],
  [0x1200, fermi],
  [0x1280, kepler],
  [0x1340, maxwell],
  [0x15f0, pascal],
  [0x1600, maxwell],
  [0x1720, pascal],
  [0x1740, maxwell],
  [0x1b00, pascal],
  [0x1d80, volta],
  [0x1e00, turing],
  [0x2080, ampere],
  [0x2180, turing],
  [0x2200, ampere],
  [0x22b0, ada],
  [0x2300, hopper],
  [0x2340, graceHopper],
  [0x2380, hopper],
  [0x2400, ampere],
  [0x2600, ada],
  [0x2900, blackwell],
  [0x3000, newer],
  [0x3180, blackwell],
  [0x3200, newer],
  [0x3340, blackwell],
  [0x3380, newer],
];

/** Returns the generation of a GPU. `deviceId`: hex without prefix, as in sysfs: `2335`. */
export function generationOf(deviceId: string): Generation {
  const id = Number.parseInt(deviceId, 16);
  return ranges.findLast(([first]) => id >= first)?.[1] ?? newer;
}
