/** Which cases were tested on which dnf system, each with its proof: the table in docs/systems.md. */
import { cellOf, type InLab, lab, matrixTable, text, withTable } from './matrix-table.ts';

/** The plan of such a host: one of the histories that every system is put through (test/unit/fleet/steps/matrix-cases.ts). */
interface Planned {
  readonly history: string;
  readonly note?: string;
}
/** The same: what a case of each system is called after the system's name (test/unit/fleet/steps/enterprise-cases.ts). */
interface Case {
  readonly planned: string;
  readonly note?: string;
}
/** Recorded scripts: files in test/fixtures/dnf/bundle. */
interface Written {
  readonly scripts: readonly string[];
  readonly note?: string;
}
/** No such host exists. */
interface Impossible {
  readonly why: string;
}
type Proof = InLab | Planned | Case | Written | Impossible | typeof text;

/** The columns, and the systems of each. */
export const columns = {
  'Rocky 9': ['rocky 9'],
  'Rocky 8, 10; AlmaLinux, Oracle Linux, Red Hat Enterprise Linux 8, 9, 10; CentOS Stream 9, 10': [
    'rocky 8',
    'rocky 10',
    ...['almalinux', 'ol', 'rhel'].flatMap((id) => ['8', '9', '10'].map((major) => `${id} ${major}`)),
    'centos 9',
    'centos 10',
  ],
  'Amazon Linux 2023': ['amzn 2023'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type Column = keyof typeof columns;

interface Row {
  readonly what: string;
  /** In the columns' order. */
  readonly proofs: readonly Proof[];
}

const refused = 'refused';
const history = (name: string, note?: string): Planned => ({
  history: name,
  ...(note === undefined ? {} : { note }),
});
const planned = (name: string, note?: string): Case => ({
  planned: name,
  ...(note === undefined ? {} : { note }),
});
const seen = (title: string, note?: string) => lab('long/enterprise.test.ts', title, note);
const met = (title: string) => lab('long/enterprise-obstacles.test.ts', title, refused);
/** Alike on all of them. */
const all = (name: string, note?: string): Proof[] => [1, 2, 3].map(() => history(name, note));

export const rows: readonly Row[] = [
  {
    what: 'is fresh',
    proofs: [
      seen('is provisioned while other programs hold its packages'),
      history('fresh'),
      history('fresh', 'with its own engine'),
    ],
  },
  {
    what: 'is up to date',
    proofs: [
      seen('has what it was given locked, and a second run finds nothing to do'),
      history('current'),
      history('current', 'with its own engine'),
    ],
  },
  {
    what: 'has an older driver',
    proofs: [
      seen('and an upgrade in the branch', 'within the branch'),
      history('older'),
      history('older', 'with its own engine'),
    ],
  },
  {
    what: 'changes to another branch, with an NVIDIA module stream enabled',
    proofs: [seen('comes although the stream of the old one is enabled'), text, text],
  },
  {
    what: 'has newer versions, and the inventory names none',
    proofs: [
      lab('long/enterprise-obstacles.test.ts', 'a newer version stays where no older one is configured'),
      planned(', newer, and newer versions are allowed'),
      text,
    ],
  },
  { what: 'has newer versions than the inventory names', proofs: all('newer') },
  { what: 'was left half-installed', proofs: all('half-installed') },
  {
    what: 'has a conflicting versionlock',
    proofs: [
      seen('is refused where its owner keeps the headers back', refused),
      history('held', refused),
      history('held', refused),
    ],
  },
  {
    what: 'has a conflicting exclude',
    proofs: [met('an exclude of its owner'), text, text],
  },
  {
    what: 'has runc or buildah',
    proofs: [
      seen('has seen by name in the plan what goes'),
      planned(', with the engine of the system, runc and buildah'),
      text,
    ],
  },
  {
    what: 'has Docker packages under older names',
    proofs: [
      history('conflicting'),
      history('conflicting'),
      { why: "its own engine is the one that is wanted, and has the older one's name" },
    ],
  },
  {
    what: 'has podman-docker',
    proofs: [met('podman-docker'), planned(', a Podman host', refused), text],
  },
  {
    what: 'has a desktop that would lose its driver libraries',
    proofs: [met('a desktop on the driver'), history('desktop', refused), history('desktop', refused)],
  },
  { what: 'has a display card to ignore', proofs: all('display card') },
  {
    what: 'got a kernel upgrade, rebooted or not',
    proofs: [
      seen('and an upgrade in the branch'),
      planned(', where a kernel upgrade waits for a reboot'),
      text,
    ],
  },
  {
    what: 'needs EPEL',
    proofs: [
      seen('is provisioned while other programs hold its packages'),
      text,
      { why: 'there is no EPEL for it: its dkms has to come from elsewhere' },
    ],
  },
  { what: 'has too little disk space', proofs: [met('a full disk'), text, text] },
  {
    what: "runs another user's container during a driver change",
    proofs: [met('a foreign container'), text, text],
  },
  {
    what: 'has a locked package database (dnf-automatic, another user)',
    proofs: [seen('names the process that it waits for'), text, text],
  },
  {
    what: 'has duplicate packages after a killed transaction',
    proofs: [seen('and an upgrade in the branch'), text, text],
  },
  {
    what: 'has an unreachable repository',
    proofs: [
      seen('names the process that it waits for, and in one line the mirror that is gone'),
      text,
      text,
    ],
  },
  {
    what: 'has no network and uses [a bundle](bundles.md#dnf-systems)',
    proofs: [
      lab('long/bundle-dnf.test.ts', 'comes up without any other network'),
      {
        scripts: [
          'rocky-linux-8',
          'almalinux-10',
          'oracle-linux-9-with-its-own-kernel',
          'red-hat-enterprise-linux-9',
        ],
        note: "a release of Rocky, AlmaLinux, Oracle Linux and Red Hat; Red Hat's subscription text only",
      },
      { scripts: ['amazon-linux-2023'] },
    ],
  },
  {
    what: 'is removed with its stack, loses power during it, and its disk compared',
    proofs: [lab('long/remove-dnf.test.ts', 'the disk is as before'), text, text],
  },
  { what: 'any of these on aarch64', proofs: [planned(' on aarch64, fresh'), text, text] },
];

/** Returns docs/systems.md with this table. */
export function withDnfMatrix(page: string): string {
  const lines = rows.map(({ what, proofs }) => ({ what, cells: proofs.map(cell) }));
  return withTable(page, 'scripts/dnf-matrix.ts', matrixTable(Object.keys(columns), lines));
}

function cell(proof: Proof): string {
  if (proof === text) return text;
  if ('why' in proof) return '–';
  return cellOf('lab' in proof ? 'lab' : 'simulated', proof.note);
}
