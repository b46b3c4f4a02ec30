import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import {
  aptGetCall,
  database,
  has,
  offered,
  reinstalled,
  updated,
  updating,
  completing,
} from './apt-host.ts';

const own = installing('vendor-drv');

function installing(...remove: readonly string[]): string {
  return apt.install({
    without: 'nvidia',
    packages: [{ name: 'drv', version: { branch: '550,1' } }],
    sameVersion: true,
    siblings: ['libdrv*'],
    beside: [
      { name: 'daemon', branch: '550,1' },
      { name: 'other', branch: '550,1' },
    ],
    formerly: ['drv', 'vendor-drv'],
    remove,
    mayRemove: [],
    proxy: { noProxy: [] },
  });
}

const sources = '/etc/apt/sources.list.d';
const vendors = 'deb https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64 /\n';
const install = 'install --allow-downgrades drv=550,1.2-1 daemon=550,1.0-9 libdrv=550,1.2-1 vendor-drv-';

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
    script: installing('pin-removed', 'pin-again', 'vendor-drv'),
    given: (host) => {
      has(host, 'vendor-drv 580,1.1-1', 'pin-removed 1', 'pin-again 1');
      offered(host, 'drv 550,1.2-1');
      host
        .file('/var/lib/dpkg/info/vendor-drv.list', '/etc/vendor-drv.conf\n')
        .file('/var/lib/dpkg/info/pin-removed.list', `${host.at('/etc/apt/preferences.d/pin-removed')}\n`)
        .file('/var/lib/dpkg/info/pin-again.list', `${host.at('/etc/apt/preferences.d/pin-again')}\n`)
        .file(reinstalled, 'pin-again\n');
    },
    after: {
      stdout: 'apt did install drv=550,1.2-1 pin-removed- pin-again- vendor-drv-\n',
      calls: [
        ...updating,
        'apt-mark unhold vendor-drv pin-removed pin-again',
        completing,
        aptGetCall('-s install --allow-downgrades drv=550,1.2-1 pin-removed- pin-again- vendor-drv-'),
        aptGetCall('install --allow-downgrades drv=550,1.2-1 pin-removed- pin-again- vendor-drv-'),
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
];
