/** What this program installs or runs on, of which there are several lines at a time. */
export type Part = 'driver' | 'cuda' | 'docker' | 'toolkit' | 'agent' | 'distribution';

/** One line of releases, and how long its vendor supports it. */
interface ReleaseLine {
  readonly part: Part;
  /** Its number: `580`, `13.2`, `29`, `1.20`, `5`, `debian 12`. Versions begin with it: `580.95.05`, `rocky 9.4`. */
  readonly line: string;
  /** The release of it that is installed where the inventory names none, or that this program was tested with. */
  readonly version?: string;
  /** A newer release that was seen and not tested. */
  readonly newer?: string;
  /** The line that is installed where the inventory names none. One for each part that has it. */
  readonly isDefault?: true;
  /** Day or month of its first release, `2025-11-10`; undefined: not read. */
  readonly released?: string;
  /**
   * The last day (`2028-06-30`) or month (`2028-06`) with support. `past`: ended before `readOn`, on a day that was not read.
   * Undefined: not known.
   */
  readonly ends?: string;
  /** The line to change to. */
  readonly successor?: string;
  /** Where dates and versions were read. */
  readonly source: string;
  readonly readOn: string;
  /** From one source that is not the vendor's. */
  readonly unconfirmed?: true;
  /** Of a driver branch: the highest CUDA that it runs without compatibility packages. */
  readonly cuda?: string;
  /** Of a CUDA release: systems of its base images, the preferred one first, and the compute capabilities that it supports. */
  readonly base?: { readonly os: readonly string[]; readonly minCc: string; readonly belowCc?: string };
  /** Of a distribution: the branch of its own driver packages. */
  readonly ownDriver?: string;
}

const nvidiaTable = 'NVIDIA, Supported Drivers and CUDA Toolkit Versions, edition of driver 620';
const nvidiaOlder = 'NVIDIA, Supported Drivers and CUDA Toolkit Versions, edition of driver 615';
const unlisted =
  'no longer in any edition of NVIDIA, Supported Drivers and CUDA Toolkit Versions, that was read';
const cudaNotes = 'NVIDIA, CUDA Toolkit release notes, for the driver; tags of docker.io/nvidia/cuda';
const readOn = '2026-11-28';

const driver = (line: string, cuda: string, more: Partial<ReleaseLine> = {}): ReleaseLine => ({
  part: 'driver',
  line,
  cuda,
  ends: 'past',
  successor: '580',
  source: unlisted,
  readOn,
  ...more,
});

/** Tags of CUDA base images; NVIDIA deletes unsupported ones without a date that was read. */
const cuda = (version: string, os: readonly string[], minCc: string, belowCc?: string): ReleaseLine => ({
  part: 'cuda',
  line: version.split('.').slice(0, 2).join('.'),
  version,
  source: cudaNotes,
  readOn: '2026-11-20',
  base: { os, minCc, ...(belowCc === undefined ? {} : { belowCc }) },
});

const distribution = (
  line: string,
  released: string,
  ends: string | undefined,
  source: string,
  more: Partial<ReleaseLine> = {},
): ReleaseLine => ({
  part: 'distribution',
  line,
  released,
  ...(ends === undefined ? {} : { ends }),
  source,
  readOn,
  ...more,
});

const [noble, jammy] = ['ubuntu24.04', 'ubuntu22.04'];
const distroInfo = 'distro-info-data of Debian';
const debianLts = `${distroInfo}: end of its LTS`;
const endOfLife = 'endoflife.date, which names the vendor’s page';
const redHat = 'Red Hat Enterprise Linux Life Cycle, end of maintenance';

/**
 * The facts that age: every driver branch, CUDA base, line of Docker, toolkit and agent, and distribution that this program knows,
 * each once. Defaults, base images and messages take their versions from here.
 */
export const releaseLines: readonly ReleaseLine[] = [
  { part: 'driver', line: '620', released: '2026-11', ends: '2029-09', source: nvidiaTable, readOn },
  // New feature branches have no end: the next branch replaces them.
  {
    part: 'driver',
    line: '615',
    cuda: '13.4',
    released: '2026-09',
    successor: '620',
    source: nvidiaTable,
    readOn,
  },
  driver('610', '13.3', { ends: '2026-08', source: nvidiaOlder, successor: '620' }),
  driver('595', '13.2', { ends: '2027-03', source: nvidiaTable, successor: '620' }),
  driver('590', '13.1'),
  driver('580', '13.0', { isDefault: true, ends: '2028-06', source: nvidiaTable, successor: '620' }),
  driver('575', '12.9'),
  driver('570', '12.8', {
    ends: '2026-02',
    source: 'an edition of NVIDIA’s table before that of driver 615',
  }),
  driver('565', '12.7'),
  driver('560', '12.6'),
  driver('555', '12.5'),
  driver('550', '12.4'),
  driver('545', '12.3'),
  driver('535', '12.2', { ends: '2026-06', source: nvidiaOlder }),
  driver('530', '12.1'),
  driver('525', '12.0'),
  driver('520', '11.8'),
  driver('515', '11.7'),
  driver('510', '11.6'),
  driver('495', '11.5'),
  driver('470', '11.4'),
  driver('465', '11.3'),
  driver('460', '11.2'),
  driver('455', '11.1'),
  driver('450', '11.0'),

  cuda('13.3.1', [noble], '7.5'),
  cuda('13.2.1', [noble, jammy], '7.5'),
  cuda('13.1.2', [noble, jammy], '7.5'),
  cuda('13.0.3', [noble, jammy], '7.5'),
  cuda('12.9.1', [noble, jammy], '5.0'),
  cuda('12.8.2', [noble, jammy], '5.0'),
  cuda('12.6.3', [noble, jammy], '5.0', '10.0'),
  cuda('12.5.1', [noble, jammy], '5.0', '10.0'),
  cuda('12.4.1', [jammy], '5.0', '10.0'),
  cuda('12.3.2', [jammy], '5.0', '10.0'),
  cuda('12.2.2', [jammy], '5.0', '10.0'),
  cuda('12.1.1', [jammy], '5.0', '10.0'),
  cuda('12.0.1', [jammy], '5.0', '10.0'),
  cuda('11.8.0', [jammy], '3.5', '10.0'),
  cuda('11.7.1', [jammy], '3.5', '8.9'),

  {
    part: 'docker',
    line: '29',
    isDefault: true,
    version: '29.7.2',
    newer: '29.8.2',
    released: '2025-11-10',
    source: 'tags of moby/moby; 29.8.2 as packaged by Alpine Linux; moby names no end of this line',
    readOn,
  },
  {
    part: 'docker',
    line: '28',
    released: '2025-02-20',
    successor: '29',
    source: 'moby, project/BRANCHES-AND-TAGS.md, names no end of this line',
    readOn,
    unconfirmed: true,
  },
  ...[
    ['27', '2024-06-25', '2025-05-03'],
    ['26.1', '2024-04-22', '2025-02-17'],
    ['26.0', '2024-03-20', '2024-06-08'],
    ['24.0', '2023-05-16', '2024-06-08'],
    ['23.0', '2023-02-02', '2025-05-19'],
    ['20.10', '2020-12-09', '2023-12-10'],
  ].map(([line = '', released = '', ends = '']): ReleaseLine => ({
    part: 'docker',
    line,
    released,
    ends,
    successor: '29',
    source: 'moby, project/BRANCHES-AND-TAGS.md, by endoflife.date',
    readOn,
  })),

  {
    part: 'toolkit',
    line: '1.20',
    isDefault: true,
    version: '1.20.0',
    source: 'tags of NVIDIA/nvidia-container-toolkit, which has no dates of ends',
    readOn: '2026-11-20',
  },

  {
    part: 'agent',
    line: '5',
    isDefault: true,
    version: '5.279.0',
    source: 'tags of microsoft/azure-pipelines-agent; .NET 10, until November 2028',
    readOn: '2026-11-20',
  },
  // The last release is of June 2026; its runtime, .NET 8, has no updates after this day.
  {
    part: 'agent',
    line: '4',
    version: '4.275.0',
    ends: '2026-11-10',
    successor: '5',
    source: 'Microsoft, .NET support policy: .NET 8; tags of microsoft/azure-pipelines-agent',
    readOn: '2026-11-20',
  },

  distribution('debian 12', '2023-06-10', '2028-06-30', debianLts, {
    ownDriver: '535',
    successor: 'debian 13',
  }),
  distribution('debian 13', '2025-08-09', '2030-06-30', debianLts, { ownDriver: '550' }),
  distribution('ubuntu 22.04', '2022-04-21', '2027-06-01', distroInfo, { successor: 'ubuntu 24.04' }),
  distribution('ubuntu 24.04', '2024-04-25', '2029-05-31', distroInfo, { successor: 'ubuntu 26.04' }),
  distribution('ubuntu 26.04', '2026-04-23', '2031-05-29', distroInfo),
  distribution('rhel 8', '2019-05-07', '2029-05-31', redHat, { successor: 'rhel 9' }),
  distribution('rhel 9', '2022-05-18', '2032-05-31', redHat, { successor: 'rhel 10' }),
  distribution('rhel 10', '2025-05-20', '2035-05-31', redHat, { unconfirmed: true }),
  distribution('rocky 8', '2021-05-01', '2029-05-31', endOfLife, { successor: 'rocky 9' }),
  distribution('rocky 9', '2022-07-14', '2032-05-31', endOfLife, { successor: 'rocky 10' }),
  distribution('rocky 10', '2025-06-11', '2035-05-31', 'Rocky Linux, version guide', { unconfirmed: true }),
  distribution('almalinux 8', '2021-03-30', '2029-03-01', endOfLife, { successor: 'almalinux 9' }),
  distribution('almalinux 9', '2022-05-26', '2032-05-31', endOfLife, { successor: 'almalinux 10' }),
  distribution('almalinux 10', '2025-05-27', '2035-05-31', endOfLife),
  distribution('ol 8', '2019-07-19', '2029-07-01', endOfLife, { successor: 'ol 9' }),
  distribution('ol 9', '2022-07-06', '2032-06-30', endOfLife, { successor: 'ol 10' }),
  distribution('ol 10', '2025-06-26', undefined, 'no date was read', { unconfirmed: true }),
  distribution('centos 9', '2021-09-15', '2027-05-31', endOfLife, { successor: 'centos 10' }),
  distribution('centos 10', '2024-12-12', '2030-01-01', endOfLife, { unconfirmed: true }),
  distribution('amzn 2023', '2023-03-01', undefined, 'two sources with different dates', {
    unconfirmed: true,
  }),
];

/** Returns the line that a version, or a line, is of: `580.95.05` and `580` → 580; `26.1.4` → 26.1. */
export function lineOf(part: Part, version: string): ReleaseLine | undefined {
  return releaseLines
    .filter((each) => each.part === part && (version === each.line || version.startsWith(`${each.line}.`)))
    .toSorted((a, b) => b.line.length - a.line.length)[0];
}

/** Returns the line that is installed where the inventory names none. */
export function defaultLine(part: Exclude<Part, 'cuda' | 'distribution'>): ReleaseLine {
  const found = releaseLines.find((each) => each.part === part && each.isDefault === true);
  if (found === undefined) throw new Error(`no default of ${part}`);
  return found;
}

/** How long a version has support, by its line. Unknown is never supported. */
export interface Support {
  readonly part: Part;
  /** As it was asked for. */
  readonly version: string;
  readonly state: 'supported' | 'ending' | 'ended' | 'unknown';
  /** As in the table; undefined: not known. */
  readonly ends?: string;
  readonly successor?: string;
}

const dayMs = 86_400_000;
/** Long enough to plan a maintenance window. */
const warningDays = 60;

/** Returns how long a version has support at a time of the wall clock. Pure. */
export function supportOf(part: Part, version: string, now: number): Support {
  const found = lineOf(part, version);
  const { ends, successor } = found ?? {};
  return {
    part,
    version,
    state: ends === undefined ? 'unknown' : stateOf(ends, now),
    ...(ends === undefined || ends === 'past' ? {} : { ends }),
    ...(successor === undefined ? {} : { successor }),
  };
}

function stateOf(ends: string, now: number): Support['state'] {
  const end = ends === 'past' ? Number.NEGATIVE_INFINITY : endOf(ends);
  if (now >= end) return 'ended';
  return now >= end - warningDays * dayMs ? 'ending' : 'supported';
}

/** Returns the first moment after a day or a month, in UTC. */
function endOf(ends: string): number {
  const [year = 0, month = 1, day] = ends.split('-').map(Number);
  return day === undefined ? Date.UTC(year, month, 1) : Date.UTC(year, month - 1, day + 1);
}
