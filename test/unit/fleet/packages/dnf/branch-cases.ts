import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { withDkms } from '../../../../../src/fleet/packages/dnf/repositories.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import {
  asked,
  database,
  dnfCall,
  has,
  lockCall,
  lockList,
  offered,
  query,
  stateOf,
  updated,
  updating,
  wrong,
} from './dnf-host.ts';

const driver = dnf.install({
  vendor: 'nvidia',
  packages: [
    { name: 'drv', version: { branch: '580' } },
    { name: 'drv-dkms', version: { branch: '580' } },
  ],
  sameVersion: true,
  siblings: ['drv*', 'libdrv*'],
  optional: ['persist', 'compute'],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
  before: 'echo "$LC_ALL"',
});
export const epel = withDkms({ release: 'epel-release', major: '9' }, { mirrors: {} });
const chosen = [query('drv'), query('persist'), query('compute')];
const shells = [dnfCall('--assumeno --allowerasing shell'), dnfCall('-y --allowerasing shell')];
const only = (vendor: string): string => dnfCall(`--refresh makecache --repo=azp-fleet-${vendor}`);

/** Packages of one branch, and their locks. */
export const branchCases: readonly ScriptCase[] = [
  {
    name: 'installs the newest version of a branch for all, with optional packages, and locks its siblings',
    script: driver,
    given: (host) => {
      has(
        host,
        'drv 3:580.1-1',
        'drv-dkms 3:580.1-1',
        'libdrv 3:580.1-1',
        'drv-tools 3:580.1-1',
        'libdrv-extra 3:570.1-1',
        'drv-doc 3:580.9-1',
        'libdrv-doc 3:580.9-1',
      );
      offered(
        host,
        'drv 3:580.1-1',
        'drv 3:580.9-1',
        'drv 3:590.1-1',
        'drv-dkms 3:580.9-1',
        'persist 3:580.8-1',
        'compute 3:580.8-1',
        'compute 3:580.9-1',
      );
      host.file(lockList, 'libdrv-extra-3:570.1-1.*\nlibdrv-3:580.1-1.*\ndrv-tools-3:580.1-1.*\n');
    },
    after: {
      stdout: 'C.UTF-8\nComplete!\n',
      calls: [...updating, lockCall('list'), ...chosen, ...shells],
      files: {
        ...updated,
        ...asked(...['', ''].map(() => 'install drv-580.9 drv-dkms-580.9 compute-580.9 $\nrun $\n')),
        [database]: `644 ${stateOf('libdrv 3:580.1-1', 'drv-tools 3:580.1-1', 'libdrv-extra 3:570.1-1', 'drv-doc 3:580.9-1', 'libdrv-doc 3:580.9-1', 'drv 3:580.9-1', 'drv-dkms 3:580.9-1', 'compute 3:580.9-1')}`,
        [lockList]: [
          '644 libdrv-extra-3:570.1-1.*',
          ...['drv', 'drv-dkms', 'drv-doc', 'libdrv-doc'].map((name) => `${name}-3:580.9-1.*`),
          '',
        ].join('\n'),
      },
    },
  },
  {
    name: 'fails if dnf left one of them at another branch',
    script: driver,
    given: (host) => {
      has(host, 'drv 3:580.9-1', 'drv-dkms 3:590.1-1');
      offered(host, 'drv 3:580.9-1', 'drv-dkms 3:580.9-1');
      host.file(lockList).file('/run/idle');
    },
    after: {
      code: 1,
      stdout: 'C.UTF-8\nNothing to do.\n',
      stderr: wrong('drv-dkms', '580.', '3:590.1-1'),
      calls: [...updating, lockCall('list'), ...chosen, ...shells],
      files: {
        ...updated,
        ...asked(...['', ''].map(() => 'install drv-580.9 drv-dkms-580.9 $\nrun $\n')),
        [lockList]: '644 drv-3:580.9-1.*\ndrv-dkms-3:590.1-1.*\n',
      },
    },
  },
  {
    name: 'adds a repository with dkms if no source of the host has it, and reads its lists',
    script: dnf.install({
      vendor: 'nvidia',
      packages: [{ name: 'drv', version: { branch: '580' } }],
      remove: [],
      mayRemove: [],
      proxy: { noProxy: [] },
      before: epel,
    }),
    given: (host) => {
      host.file(database).file(lockList, 'drv-3:570.1-1.*\n');
      offered(host, 'drv 3:580.9-1', 'epel-release 0:9-10');
      host.file('/run/later', 'drv 3:580.9-1\ndkms 0:3-1\n');
    },
    after: {
      stdout: 'dnf did install epel-release\nComplete!\n',
      calls: [
        ...updating,
        lockCall('list'),
        query('dkms'),
        query('epel-release'),
        dnfCall('-y install epel-release'),
        ...updating,
        query('dkms'),
        query('drv'),
        ...shells,
      ],
      files: {
        ...updated,
        '/run/later': 'gone',
        '/var/lib/dnf/offers': '644 drv 3:580.9-1\ndkms 0:3-1\n',
        ...asked(...['', ''].map(() => 'install drv-580.9 $\nrun $\n')),
        [database]: `644 ${stateOf('epel-release 0:9-10', 'drv 3:580.9-1')}`,
        [lockList]: '644 drv-3:580.9-1.*\n',
      },
    },
  },
  {
    name: 'fails at another branch if only its source was read again',
    script: driver,
    given: (host) => {
      has(host, 'drv 3:590.1-1');
      offered(host, 'drv 3:580.9-1', 'drv-dkms 3:580.9-1');
      host
        .file(lockList)
        .file('/run/idle')
        .file('/run/azp-fleet/package-lists')
        .file('/etc/yum.repos.d/azp-fleet-nvidia.repo');
    },
    after: {
      code: 1,
      stdout: 'C.UTF-8\nNothing to do.\n',
      stderr: wrong('drv', '580.', '3:590.1-1'),
      calls: [updating[0] ?? '', only('nvidia'), lockCall('list'), ...chosen, ...shells],
      files: {
        ...asked(...['', ''].map(() => 'install drv-580.9 drv-dkms-580.9 $\nrun $\n')),
        [lockList]: '644 drv-3:590.1-1.*\n',
      },
    },
  },
];
