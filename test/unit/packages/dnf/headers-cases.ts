import type { BuildHost } from '../../../../src/packages/build.ts';
import { withDkms } from '../../../../src/packages/dnf/epel.ts';
import { kernelBuild } from '../../../../src/packages/dnf/headers.ts';
import { installScript } from '../../../../src/packages/dnf/install.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';
import {
  database,
  dnfCall,
  dnfHost,
  offered,
  query,
  settled,
  stateOf,
  updated,
  updating,
} from './dnf-host.ts';

const running = '6.1.141-155.222.amzn2023.x86_64';
const newer = '6.1.147-172.266.amzn2023.x86_64';
const [devel, modules] = ['kernel-devel', 'kernel-modules-extra'].map((name) => `${name}-${running}`) as [
  string,
  string,
];
const bare: BuildHost = {
  kernels: [{ release: running, headers: false, driver: false }],
  lacksToBuild: ['gcc'],
  packages: { [`kernel-${newer}`]: '6.1.147' },
  held: [],
};

/** The transaction in which it stands. */
function around(before: string): string {
  const transaction = { packages: [], remove: [], mayRemove: [], proxy: { noProxy: [] } };
  return installScript({ ...transaction, before, after: 'echo built' });
}

const build = around(kernelBuild(bare, 'all').script);
const waiting = around(
  kernelBuild(
    { ...bare, kernels: [...bare.kernels, { release: newer, headers: true, driver: false }] },
    'all',
  ).script,
);
const rocky = around(withDkms({ release: 'epel-release', major: '9' }));
const url = 'https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm';
const asks = [devel, modules, 'gcc'].map(query);
const lacks = (way: string) => ({
  code: 1,
  stderr: `failed: no package source offers the headers of Linux ${running}
expected: ${devel}
seen: only other versions, if any
next: ${way}
`,
  calls: [...updating, query(devel)],
  files: updated,
});

export const headersSuite: ScriptSuite = {
  name: 'what modules are built with, on dnf hosts',
  elsewhere: around('HERE').split('HERE'),
  given: (host) => {
    dnfHost(host);
    offered(host, `${devel} 0:1-1`, `${modules} 0:1-1`, 'gcc 0:11-1', 'epel-release 0:9-10');
  },
  cases: [
    {
      name: 'are headers, what goes with them, and the compiler, in one transaction',
      script: build,
      after: {
        stdout: `dnf did install ${devel} ${modules} gcc\nbuilt\n`,
        calls: [...updating, ...asks, dnfCall(`-y install ${devel} ${modules} gcc`)],
        files: {
          ...updated,
          [database]: `644 ${stateOf(`${devel} 0:1-1`, `${modules} 0:1-1`, 'gcc 0:11-1')}`,
        },
      },
    },
    {
      name: 'are headers alone where nothing offers what else there may be',
      script: build,
      given: (host) => offered(host, `${devel} 0:1-1`, 'gcc 0:11-1'),
      after: {
        stdout: `dnf did install ${devel} gcc\nbuilt\n`,
        calls: [...updating, ...asks, dnfCall(`-y install ${devel} gcc`)],
        files: { ...updated, [database]: `644 ${stateOf(`${devel} 0:1-1`, 'gcc 0:11-1')}` },
      },
    },
    {
      name: 'are missed where nothing offers them',
      script: build,
      given: (host) => offered(host, 'gcc 0:11-1'),
      after: lacks('upgrade the kernel (sudo dnf upgrade kernel), reboot, run again'),
    },
    {
      name: 'are missed with another way where a newer kernel is there',
      script: waiting,
      given: (host) => offered(host, 'gcc 0:11-1'),
      after: lacks(`reboot into Linux ${newer}, which is installed, and run again`),
    },
    {
      name: 'are nothing more where DKMS is offered',
      script: rocky,
      given: (host) => offered(host, 'dkms 0:3.2.2-1'),
      after: { stdout: 'built\n', calls: [...updating, query('dkms')], files: updated },
    },
    {
      name: 'are nothing more where DKMS is there',
      script: rocky,
      given: (host) => host.file(database, 'dkms 0 3.2.2 1 noarch\n'),
      after: { stdout: 'built\n', calls: updating, files: updated },
    },
    {
      name: "are DKMS from EPEL, which the system's own sources bring",
      script: rocky,
      after: {
        stdout: 'dnf did install epel-release\nbuilt\n',
        calls: [
          ...updating,
          query('dkms'),
          query('epel-release'),
          dnfCall('-y install epel-release'),
          settled,
          updating[1] ?? '',
        ],
        files: { ...updated, [database]: `644 ${stateOf('epel-release 0:9-10')}` },
      },
    },
    {
      name: 'are DKMS from EPEL, which the Fedora project brings',
      script: rocky,
      given: (host) => offered(host),
      after: {
        stdout: `dnf did install ${url}\nbuilt\n`,
        calls: [
          ...updating,
          query('dkms'),
          query('epel-release'),
          dnfCall(`-y install ${url}`),
          settled,
          updating[1] ?? '',
        ],
        files: { ...updated, [database]: `644 ${stateOf('epel-release 0:9-10')}` },
      },
    },
    {
      name: 'are nowhere to be had on Amazon Linux',
      script: around(withDkms(undefined)),
      after: {
        code: 1,
        stderr: `failed: no package source offers dkms, which builds the driver
expected: dkms
seen: none
next: put dkms into a package source of the host, and run again
`,
        calls: [...updating, query('dkms')],
        files: updated,
      },
    },
  ],
};
