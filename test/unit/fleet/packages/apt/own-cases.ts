import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import {
  aptGetCall,
  database,
  has,
  lockedDuring,
  offered,
  reinstalled,
  simulation,
  updated,
  updating,
  completing,
} from './apt-host.ts';

const own = apt.install({
  without: 'nvidia',
  packages: [{ name: 'drv', version: { branch: '550,1' } }],
  sameVersion: true,
  siblings: ['libdrv*'],
  beside: [
    { name: 'daemon', branch: '550,1' },
    { name: 'other', branch: '550,1' },
  ],
  formerly: ['drv', 'vendor-drv'],
  remove: ['pin-removed', 'pin-again', 'vendor-drv'],
  mayRemove: [],
  proxy: { noProxy: [] },
});

const sources = '/etc/apt/sources.list.d';
const vendors = 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64 /\n';
const removes = 'pin-removed- pin-again- vendor-drv-';
const install = `install --allow-downgrades drv=550,1.2-1 daemon=550,1.0-9 libdrv=550,1.2-1 ${removes}`;
const both = install.replace(' libdrv=', ' other=550,1.3-1 libdrv=');

/** A distribution's packages instead of a vendor's of the same names. */
export const ownCases: readonly ScriptCase[] = [
  {
    name: "removes the vendor's sources, and changes held packages of the vendor, too",
    script: own,
    given: (host) => {
      has(host, 'vendor-drv 580,1.1-1', 'libdrv 580,1.1-1');
      offered(host, 'drv 550,1.2-1', 'libdrv 550,1.2-1', 'daemon 550,1.0-9', 'other 535,1.0-1');
      host
        .file(`${sources}/azp-fleet-nvidia.sources`, 'Types: deb\nURIs: http://mirror/nvidia\n')
        .file('/etc/apt/keyrings/azp-fleet-nvidia.gpg', 'key')
        .file(`${sources}/cuda,debian13.list`, vendors)
        .file(`${sources}/site.sources`, 'Types: deb\nURIs: http://site\n');
    },
    after: {
      stdout: `switching off ${sources}/cuda,debian13.list\napt did ${install.replace('--allow-downgrades ', '')}\n`,
      calls: [
        ...updating,
        'apt-mark unhold vendor-drv libdrv',
        completing,
        aptGetCall(`-s ${install}`),
        aptGetCall(install),
        'apt-mark hold drv libdrv',
      ],
      files: {
        ...updated,
        [`${sources}/azp-fleet-nvidia.sources`]: 'gone',
        '/etc/apt/keyrings/azp-fleet-nvidia.gpg': 'gone',
        [`${sources}/cuda,debian13.list`]: 'gone',
        [`${sources}/cuda,debian13.list.azp-fleet-nvidia.disabled`]: `644 ${vendors}`,
        [database]: `644 drv 550,1.2-1 installed
daemon 550,1.0-9 installed
libdrv 550,1.2-1 installed
`,
      },
    },
  },
  {
    name: 'purges a removed package whose pins would stay, and no package that is installed or pins nothing',
    script: own,
    given: (host) => {
      has(host, 'vendor-drv 580,1.1-1', 'pin-removed 1', 'pin-again 1');
      offered(host, 'drv 550,1.2-1');
      host
        .file('/var/lib/dpkg/info/vendor-drv.list', `${host.at('/etc/apt/preferences_d/vendor-drv')}\n`)
        .file('/var/lib/dpkg/info/pin-removed.list', `${host.at('/etc/apt/preferences.d/pin-removed')}\n`)
        .file('/var/lib/dpkg/info/pin-again.list', `${host.at('/etc/apt/preferences.d/pin-again')}\n`)
        .file(reinstalled, 'pin-again\n');
      lockedDuring(host, 'install', '/var/lib/dpkg/lock', 812);
    },
    after: {
      stdout: `apt did install drv=550,1.2-1 ${removes}\nwaiting, because unknown (pid 812) holds /var/lib/dpkg/lock (0 s)\n`,
      calls: [
        ...updating,
        'apt-mark unhold vendor-drv pin-removed pin-again',
        completing,
        aptGetCall(`-s install --allow-downgrades drv=550,1.2-1 ${removes}`),
        aptGetCall(`install --allow-downgrades drv=550,1.2-1 ${removes}`),
        'sleep 2',
        'dpkg --purge pin-removed',
        'apt-mark hold drv',
      ],
      files: {
        ...updated,
        [database]: `644 vendor-drv 580,1.1-1 config-files
pin-removed 1 config-files
pin-again 1 installed
drv 550,1.2-1 installed
`,
      },
    },
  },
  {
    name: "holds the vendor's packages again if another package would be removed",
    script: own,
    given: (host) => {
      has(host, 'vendor-drv 580,1.1-1', 'libdrv 580,1.1-1');
      offered(host, 'drv 550,1.2-1', 'libdrv 550,1.2-1', 'daemon 550,1.0-9');
      host.file(simulation, 'Remv vendor-drv [580,1.1-1]\nRemv theirs [1.0]\n');
    },
    after: {
      code: 1,
      stderr: `failed: apt would also remove other packages
expected: only pin-removed, pin-again, vendor-drv may be removed
seen: theirs${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
      calls: [
        ...updating,
        'apt-mark unhold vendor-drv libdrv',
        completing,
        aptGetCall(`-s ${install}`),
        'apt-mark hold libdrv',
      ],
      files: updated,
    },
  },
  {
    name: 'changes its own packages of an older branch together, with all that are versioned on their own',
    script: own,
    given: (host) => {
      has(host, 'drv 540,1.1-1', 'libdrv 540,1.1-1');
      offered(host, 'drv 550,1.2-1', 'libdrv 550,1.2-1', 'daemon 550,1.0-9', 'other 550,1.3-1');
    },
    after: {
      stdout: `apt did ${both.replace('--allow-downgrades ', '')}\n`,
      calls: [
        ...updating,
        'apt-mark unhold drv libdrv',
        completing,
        aptGetCall(`-s ${both}`),
        aptGetCall(both),
        'apt-mark hold drv libdrv',
      ],
      files: {
        ...updated,
        [database]: `644 drv 550,1.2-1 installed
daemon 550,1.0-9 installed
other 550,1.3-1 installed
libdrv 550,1.2-1 installed
`,
      },
    },
  },
];
