/** Which cases were tested on which apt system, each with its proof: the table in docs/systems.md. */
import { cellOf, type InLab, lab, matrixTable, text, withTable } from './matrix-table.ts';

/** apt's resolver: what a table of test/fixtures/apt/tables is called at least, after the system's folder. */
interface Simulated {
  readonly simulated: string;
  readonly note?: string;
}
type Proof = InLab | Simulated | typeof text;

interface ColumnOf {
  readonly systems: readonly string[];
  /** The folder of the resolver's tables; absent: it has no package lists here. */
  readonly tables?: string;
}

/** The columns, and the systems of each. Systems with equal cells share one: `Ubuntu 26.04; Linux Mint 22`. */
export const columns: Readonly<Record<string, ColumnOf>> = {
  'Debian 12': { systems: ['debian 12'], tables: 'debian-12' },
  'Debian 13': { systems: ['debian 13'], tables: 'debian-13' },
  'Ubuntu 22.04': { systems: ['ubuntu 22.04'], tables: 'ubuntu-22.04' },
  'Ubuntu 24.04': { systems: ['ubuntu 24.04'], tables: 'ubuntu-24.04' },
  'Ubuntu 26.04': { systems: ['ubuntu 26.04'] },
};

interface Row {
  readonly what: string;
  /** In the columns' order; the columns after the last one are "text only". */
  readonly proofs: readonly Proof[];
}

const simulated = (table: string, note?: string): Simulated => ({
  simulated: table,
  ...(note === undefined ? {} : { note }),
});
/** Alike on all systems whose package lists are here; these columns first. */
const also = (table: string, first: readonly Proof[] = []): Proof[] => [
  ...first,
  ...Array.from({ length: 4 - first.length }, () => simulated(table)),
];

/** On Debian, and on one that looks like Ubuntu 24.04. */
function changes(title: string, note?: string): Proof[] {
  const [plain, dressed] = [note, [note, 'dressed up'].filter(Boolean).join(', ')].map((each) =>
    lab('long/host-changes.test.ts', title, each),
  );
  return [plain ?? text, plain ?? text, text, dressed ?? text];
}

const anotherBranch = 'another branch, while unattended-upgrades installs a package';
const nextKernel = 'a kernel upgrade between two runs';
const engines = 'long/distro-engines.test.ts';
const ownDriver = 'long/distro-driver.test.ts';
const bare = lab('provision.test.ts', 'takes three bare machines to healthy hosts');
const again = lab('provision.test.ts', 'makes no change the second time');

export const rows: readonly Row[] = [
  { what: 'is fresh', proofs: also('driver-fresh', [bare, bare]) },
  { what: 'is up to date', proofs: also('driver-current', [again, again]) },
  { what: 'has older versions', proofs: also('driver-older') },
  {
    what: 'changes to another driver branch',
    proofs: [
      lab('long/provision-resume.test.ts', 'waits for the running job, reboots with proof'),
      lab('long/host-stack.test.ts', 'another driver branch comes with a reboot'),
      simulated('driver-newer-595-and-580-is-configured'),
      lab('long/host-changes.test.ts', anotherBranch, 'dressed up'),
    ],
  },
  {
    what: 'has newer versions, and the inventory names none',
    proofs: also('driver-newer-595-and-nothing-older-is-configured'),
  },
  {
    what: 'has newer versions than the inventory names',
    proofs: [
      lab('long/package-plan.test.ts', 'calls a downgrade one, library by library'),
      lab('long/host-changes.test.ts', anotherBranch),
      simulated('driver-newer-595-and-580-is-configured'),
      lab('long/host-changes.test.ts', anotherBranch, 'dressed up'),
    ],
  },
  { what: 'has packages on hold', proofs: also('docker-held') },
  {
    what: 'has a conflicting package on hold',
    proofs: [
      simulated('driver-held', 'refused'),
      simulated('driver-held'),
      simulated('driver-held', 'refused'),
      simulated('driver-held', 'refused'),
    ],
  },
  {
    what: "has the distribution's Docker and an existing daemon.json",
    proofs: [lab('long/host-stack.test.ts', "Debian's Docker, an owner's daemon.json")],
  },
  {
    what: "has the distribution's Docker with plugins",
    proofs: also('docker-conflicting-the-distribution-s-own-with-all-that-it-recommends', [
      simulated('docker-conflicting-the-distribution-s-own-with-all-that-it-recommends'),
      lab(engines, 'docker.io with its plugins'),
    ]),
  },
  {
    what: "has the distribution's Docker, and Podman using its runtime",
    proofs: [
      simulated('docker-conflicting-the-distribution-s-own-with-a-podman'),
      lab(engines, 'docker.io with its plugins'),
    ],
  },
  {
    what: 'has Podman and no Docker',
    proofs: [
      lab(engines, 'a Podman host without Docker', 'refused'),
      lab(engines, 'podman-docker that was installed by hand', 'refused'),
    ],
  },
  {
    what: 'is fresh, with `method: distro`',
    proofs: also('own-driver-fresh-nothing-there-and-agents-draw', [
      lab(ownDriver, 'is installed where no branch is configured'),
    ]),
  },
  {
    what: "changes from the distribution's driver to NVIDIA's",
    proofs: also('driver-conflicting', [
      simulated('driver-conflicting'),
      lab(ownDriver, "goes for NVIDIA's by name"),
    ]),
  },
  {
    what: "changes from NVIDIA's driver to the distribution's",
    proofs: also('own-driver-conflicting-nvidia', [
      simulated('own-driver-conflicting-nvidia'),
      lab(ownDriver, "replaces NVIDIA's"),
    ]),
  },
  { what: 'was left half-installed', proofs: also('driver-half-installed') },
  {
    what: 'has a desktop and changes to another driver branch',
    proofs: [
      simulated('driver-desktop-595-and-580-is-configured'),
      simulated('driver-desktop-595-and-580-is-configured'),
      simulated('driver-desktop-595-and-580-is-configured', 'refused'),
      simulated('driver-desktop-595-and-580-is-configured', 'refused'),
    ],
  },
  { what: 'has a display card to ignore', proofs: also('driver-display-card') },
  {
    what: 'got a kernel upgrade',
    proofs: [
      lab(ownDriver, 'is built for a kernel of Debian that was booted since'),
      lab('long/host-changes.test.ts', nextKernel),
      simulated('kernels-kernel-upgraded'),
      lab('long/host-changes.test.ts', nextKernel, 'dressed up'),
    ],
  },
  { what: 'has too little disk space', proofs: changes('a full disk: refused with the numbers', 'refused') },
  {
    what: "runs another user's container during a driver change",
    proofs: changes('a foreign container: a driver change is refused with its name', 'refused'),
  },
  {
    what: 'loses power during an upgrade within the branch',
    proofs: changes('the power goes in the middle of an upgrade within the branch'),
  },
  {
    what: 'has a locked package database (unattended-upgrades, another user)',
    proofs: changes(anotherBranch),
  },
  {
    what: 'loses its connection or reboots during a change',
    proofs: [
      lab('long/provision-resume.test.ts', 'one works, the other says who does; killed or interrupted'),
      lab('long/crash.test.ts', 'on a bare host'),
    ],
  },
  {
    what: 'has no network and uses a bundle',
    proofs: [lab('long/bundle.test.ts', 'the host comes up without any other network')],
  },
  {
    what: 'is removed with its stack, and its disk compared',
    proofs: [text, lab('long/remove.test.ts', 'the next run takes it up, and the disk is as before')],
  },
  { what: 'any of these on aarch64', proofs: [] },
];

/** Returns docs/systems.md with this table. */
export function withHostMatrix(page: string): string {
  const names = Object.keys(columns);
  const lines = rows.map(({ what, proofs }) => ({
    what,
    cells: names.map((_, at) => cell(proofs[at] ?? text)),
  }));
  return withTable(page, 'scripts/host-matrix.ts', matrixTable(names, lines));
}

function cell(proof: Proof): string {
  return proof === text ? text : cellOf('lab' in proof ? 'lab' : 'simulated', proof.note);
}
