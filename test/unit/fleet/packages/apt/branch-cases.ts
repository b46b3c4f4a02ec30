import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { aptGetCall, database, has, offered, simulation, updated, updating, completing } from './apt-host.ts';
import { only } from './engine-transaction.ts';

const driver = apt.install({
  vendor: 'nvidia',
  packages: [
    { name: 'drv', version: { branch: '580,1' } },
    { name: 'drv-dkms', version: { branch: '580,1' } },
  ],
  sameVersion: true,
  siblings: ['drv*', 'libdrv*'],
  optional: ['persist', 'compute'],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
  before: 'echo "$LC_ALL"',
});

const refuses = `case $* in *' update '*) ;; *' -s '*) exit 100 ;; *' install '*) echo 'E: no' >&2; exit 100 ;; esac`;
const driverInstall = 'install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1';

/** apt refuses the request, so the script asks what is incomplete. */
const refused = [aptGetCall(`-s ${driverInstall}`), completing];

/** Packages of one branch, and their holds. */
export const branchCases: readonly ScriptCase[] = [
  {
    name: 'installs the newest version of a branch for all, with optional packages, and holds its siblings',
    script: driver,
    given: (host) => {
      has(
        host,
        'drv 580,1.1-1',
        'libdrv 580,1.1-1',
        'libdrv-extra 570.1-1',
        'drvless 580,1.1-1',
        'drv-dkms 580,1.1-1',
      );
      offered(
        host,
        'drv 590.1-1',
        'drv 580,1.9-1',
        'drv 580,1.1-1',
        'drv-dkms 580,1.9-2',
        'drv-dkms 580,1.9-1',
        'persist 580,1.8-1',
        'persist 5580,1.9-1',
        'compute 580,1.8-1',
        'compute 580,1.9-1',
        'drvless 580,1.9-1',
        'drvless 580,1.9-1',
        'libdrv 580,1.8-1',
        'libdrv-extra 580,1.9-1',
      );
      host.program(
        'apt-get',
        `case $* in *' -s '*) ;; *' install '*) sed -i 's/580,1.1-1/580,1.9-1/' ${database} ;; esac`,
      );
    },
    after: {
      stdout: 'C.UTF-8\n',
      calls: [
        ...updating,
        'apt-mark unhold drv libdrv drvless drv-dkms',
        aptGetCall(`-s ${driverInstall} compute=580,1.9-1 drvless=580,1.9-1`),
        aptGetCall(`${driverInstall} compute=580,1.9-1 drvless=580,1.9-1`),
        'apt-mark hold drv drv-dkms drv libdrv drvless drv-dkms',
      ],
      files: {
        ...updated,
        [database]: `644 drv 580,1.9-1 installed
libdrv 580,1.9-1 installed
libdrv-extra 570.1-1 installed
drvless 580,1.9-1 installed
drv-dkms 580,1.9-1 installed
`,
      },
    },
  },
  {
    name: 'installs a new driver, the modules of its release, and no optional packages of another version',
    script: driver,
    given: (host) => {
      has(host);
      offered(
        host,
        'drv 580,1.9-1',
        'drv-dkms 580.2-1',
        'drv-dkms 580,1.9-0',
        'persist 580,1.9-1',
        'compute 580,1.8-1',
      );
    },
    after: {
      stdout: 'C.UTF-8\napt did install drv=580,1.9-1 drv-dkms=580,1.9-0 persist=580,1.9-1\n',
      calls: [
        ...updating,
        aptGetCall('-s install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-0 persist=580,1.9-1'),
        aptGetCall('install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-0 persist=580,1.9-1'),
        'apt-mark hold drv drv-dkms drv',
      ],
      files: {
        ...updated,
        [database]: `644 drv 580,1.9-1 installed
drv-dkms 580,1.9-0 installed
persist 580,1.9-1 installed
`,
      },
    },
  },
  ...['drv', 'drv-dkms'].map((wrong) => ({
    name: `fails at another branch of ${wrong} if only its source was read again`,
    script: driver,
    given: (host: ScratchHost) => {
      has(host);
      offered(host, 'drv 580,1.9-1');
      host.file('/run/azp-fleet/package-lists').file('/etc/apt/sources.list.d/azp-fleet-nvidia.sources');
      host.program(
        'apt-get',
        `case $* in *' -s '*) ;; *' install '*) printf '%s 580,1.9-1 installed\\n' drv drv-dkms | sed '/^${wrong} /s/ 580/ 590/' >${database} ;; esac`,
      );
    },
    after: {
      code: 1,
      stdout: 'C.UTF-8\n',
      stderr: `failed: ${wrong} has the wrong version after its installation
expected: 580,1.
seen: 590,1.9-1
next: check /etc/apt/preferences.d for a pin that prefers another version
`,
      calls: [
        'dpkg --audit',
        `${updating[1]} ${only('nvidia')}`,
        aptGetCall(`-s ${driverInstall}`),
        aptGetCall(driverInstall),
        'apt-mark hold drv drv-dkms drv',
      ],
      files: {
        [database]:
          wrong === 'drv'
            ? '644 drv 590,1.9-1 installed\ndrv-dkms 580,1.9-1 installed\n'
            : '644 drv 580,1.9-1 installed\ndrv-dkms 590,1.9-1 installed\n',
      },
    },
  })),
  {
    name: 'may remove nothing if nothing was announced',
    script: driver,
    given: (host) => {
      offered(host, 'drv 580,1.9-1');
      host.file(simulation, 'Remv drv-old [1]\n');
    },
    after: {
      code: 1,
      stdout: 'C.UTF-8\n',
      stderr: `failed: apt would also remove other packages
expected: none may be removed
seen: drv-old${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
      calls: [...updating, aptGetCall(`-s ${driverInstall}`)],
      files: updated,
    },
  },
  {
    name: 'completes what an interrupted run left where apt refuses the request, which names what is installed then',
    script: driver,
    given: (host) => {
      host.file(
        database,
        'drv 580,1.1-1 unpacked\nlibdrv 580,1.1-1 unpacked\ndrv-dkms 580,1.1-1 installed\n',
      );
      offered(host, 'drv 580,1.9-1', 'libdrv 580,1.9-1');
      host.program(
        'apt-get',
        `case $* in
  *' --fix-broken '*) echo 'Inst drv [580,1.1-1] (580.1-1 NVIDIA:x [amd64])'; echo 'Inst libdrv (580.1-1 NVIDIA:x [amd64]) []'; echo 'Conf drv (2)'; echo 'a word' >&2 ;;
  *' -s '*drv=580.1-1*) ;;
  *' -s '*) ! grep -q unpacked ${database} || { echo 'E: Unmet dependencies' >&2; exit 100; } ;;
  *' install '*drv=580.1-1*) sed -i 's/unpacked/installed/' ${database} ;;
  *' install '*) sed -i 's/580,1.1-1/580,1.9-1/' ${database} ;;
esac`,
      );
    },
    after: {
      stdout: 'C.UTF-8\n',
      calls: [
        ...updating,
        'apt-mark unhold drv drv-dkms',
        ...refused,
        aptGetCall('-s install --allow-downgrades drv=580.1-1 libdrv=580.1-1'),
        aptGetCall('install --allow-downgrades drv=580.1-1 libdrv=580.1-1'),
        aptGetCall(`-s ${driverInstall} libdrv=580,1.9-1`),
        aptGetCall(`${driverInstall} libdrv=580,1.9-1`),
        'apt-mark hold drv drv-dkms drv libdrv drv-dkms',
      ],
      files: {
        ...updated,
        [database]: '644 drv 580,1.9-1 installed\nlibdrv 580,1.9-1 installed\ndrv-dkms 580,1.9-1 installed\n',
      },
    },
  },
  {
    name: 'fails with the words of apt if nothing is incomplete where it refuses the request',
    script: driver,
    given: (host) => {
      has(host);
      offered(host, 'drv 580,1.9-1');
      host.program('apt-get', refuses);
    },
    after: {
      code: 100,
      stdout: 'C.UTF-8\n',
      stderr: 'E: no\n',
      calls: [
        ...updating,
        ...refused,
        aptGetCall(driverInstall),
        aptGetCall(`--print-uris ${driverInstall}`),
      ],
      files: { ...updated },
    },
  },
  {
    name: 'fails with the words of apt if it refuses to complete, too',
    script: driver,
    given: (host) => {
      has(host);
      offered(host, 'drv 580,1.9-1');
      host.program(
        'apt-get',
        `case $* in *' --fix-broken '*) echo 'Inst lib (1 x)'; exit ;; esac\n${refuses}`,
      );
    },
    after: {
      code: 100,
      stdout: 'C.UTF-8\n',
      stderr: 'E: no\n',
      calls: [
        ...updating,
        ...refused,
        ...['-s', '', '--print-uris'].map((flag) =>
          aptGetCall(`${flag} install --allow-downgrades lib=1`.trimStart()),
        ),
      ],
      files: { ...updated },
    },
  },
  {
    name: 'holds only installed packages',
    script: apt.hold(['tool', 'absent', 'extra']),
    given: (host) => has(host, 'tool 1', 'extra 2', 'toolbox 3'),
    after: { calls: ['apt-mark hold tool extra'] },
  },
  {
    name: 'holds nothing if nothing is installed',
    script: apt.hold(['tool', 'absent', 'extra']),
    given: (host) => has(host),
    after: {},
  },
  {
    name: 'holds siblings of the same version',
    script: apt.hold(['drv'], ['drv*', 'libdrv*']),
    given: (host) => has(host, 'drv 580,1.1-1', 'libdrv 580,1.1-1', 'libdrv-extra 570.1-1'),
    after: { calls: ['apt-mark hold drv drv libdrv'] },
  },
  {
    name: 'reports a failed hold',
    script: apt.hold(['tool', 'absent', 'extra']),
    given: (host) => host.program('apt-mark', 'echo "E: no" >&2; exit 100'),
    after: { code: 100, stderr: 'E: no\n', calls: ['apt-mark hold tool'] },
  },
];
