import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { kernelBuild } from '../../../../../src/fleet/packages/apt/headers.ts';
import type { BuildHost } from '../../../../../src/fleet/packages/names.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import {
  aptCache,
  aptGetCall,
  aptHost,
  completing,
  offered,
  simulation,
  updated,
  updating,
} from './apt-host.ts';

export const bare: BuildHost = {
  kernels: [{ release: '6.8.0-45-generic', headers: true, driver: false }],
  lacksToBuild: [],
  packages: { 'linux-image-6.8.0-45-generic': '6.8.0-45.45' },
  held: [],
};

/** Returns a transaction that contains the script. */
function around(before: string): string {
  return apt.install({
    packages: [],
    remove: [],
    mayRemove: [],
    proxy: { noProxy: [] },
    before,
    after: 'echo built',
  });
}

function script(host: Partial<BuildHost>, scope: 'all' | 'next' = 'all'): string {
  return around(kernelBuild({ ...bare, ...host }, scope).script);
}

const [running] = bare.kernels;
const lacking = [{ release: '6.8.0-45-generic', headers: false, driver: false }];
const waiting = { release: '6.8.0-50-generic', headers: false, driver: false };
const packages = {
  ...bare.packages,
  'linux-image-6.8.0-50-generic': '6.8.0-50.51',
  'linux-image-generic': '6.8.0-50.51',
};
const asking = (names: string): string => `apt-cache madison ${names}`;
const policy = 'apt-cache policy linux-image-generic';
/** `asked`: the calls that ask for offers. */
const installs = (asked: readonly string[], ...names: readonly string[]) => ({
  stdout: `apt did install ${names.join(' ')}\nbuilt\n`,
  calls: [
    ...updating,
    completing,
    ...asked,
    aptGetCall(`-s install ${names.join(' ')}`),
    aptGetCall(`install ${names.join(' ')}`),
  ],
});

/** Everything that can be lacking. */
const all = script({ kernels: [...lacking, waiting], packages, lacksToBuild: ['gcc', 'make', 'gcc-12'] });
const allNames = [
  'linux-headers-6.8.0-45-generic',
  'linux-headers-6.8.0-50-generic',
  'linux-headers-generic',
  'gcc',
  'make',
  'gcc-12',
] as const;
const allAsked = asking(allNames.join(' '));
const allOffered = [
  'linux-headers-6.8.0-45-generic 6.8.0-45.45',
  'linux-headers-6.8.0-50-generic 6.8.0-50.51',
  'linux-image-generic 6.8.0-60.61',
  'linux-headers-generic 6.11-1',
  'linux-headers-generic 6.8.0-60.61',
  'gcc 4:13',
  'make 4.3',
  'gcc-12 12.3',
] as const;
const upgrade =
  'upgrade the kernel (apt-get install linux-image-generic on Ubuntu, linux-image-amd64 on Debian)';

export const headersSuite: ScriptSuite = {
  name: 'packages that build modules',
  elsewhere: around('HERE').split('HERE'),
  given: (host) => {
    aptHost(host);
    host.drop('/var/lib/dpkg/state').program('apt-cache', aptCache);
    host.program(
      'apt-get',
      'case $* in *" --fix-broken "*) ;; *" -s "*) cat /var/lib/apt/simulation 2>/dev/null ;; *" install "*) set -- $*; while [ "$1" != install ]; do shift; done; echo "apt did $*" ;; esac',
    );
    offered(host, ...allOffered);
  },
  cases: [
    {
      name: 'are none if all are installed',
      script: script({}),
      after: { stdout: 'built\n', calls: [...updating, completing], files: updated },
    },
    {
      name: 'are the headers of the running kernel, of the next one, and of all later ones',
      script: all,
      after: {
        ...installs(
          [allAsked, policy],
          'linux-headers-6.8.0-45-generic',
          'linux-headers-6.8.0-50-generic',
          'linux-headers-generic=6.8.0-60.61',
          'gcc',
          'make',
          'gcc-12',
        ),
        files: updated,
      },
    },
    {
      name: 'are the newest headers of a flavour if those of its image are not offered',
      script: script({ packages }),
      given: (host) => offered(host, 'linux-image-generic 6.8.0-60.61', 'linux-headers-generic 6.8.0-50.51'),
      after: {
        ...installs([asking('linux-headers-generic'), policy], 'linux-headers-generic'),
        files: updated,
      },
    },
    {
      name: "include the kernel's own compiler only if it is offered",
      script: script({ packages, lacksToBuild: ['gcc-14'] }),
      after: {
        ...installs([asking('linux-headers-generic gcc-14'), policy], 'linux-headers-generic=6.8.0-60.61'),
        files: updated,
      },
    },
    {
      name: 'are the tools alone if only one is lacking',
      script: script({ lacksToBuild: ['make'] }),
      after: { ...installs([asking('make')], 'make'), files: updated },
    },
    {
      name: 'are none if no source offers the one compiler that is lacking',
      script: script({ lacksToBuild: ['gcc-14'] }),
      after: {
        stdout: 'built\n',
        calls: [...updating, completing, asking('gcc-14')],
        files: updated,
      },
    },
    {
      name: "include the kernel's own compiler beside the headers",
      script: script({ packages, lacksToBuild: ['gcc-14'] }),
      given: (host) => offered(host, ...allOffered, 'gcc-14 14.2'),
      after: {
        ...installs(
          [asking('linux-headers-generic gcc-14'), policy],
          'linux-headers-generic=6.8.0-60.61',
          'gcc-14',
        ),
        files: updated,
      },
    },
    {
      name: 'stop the script if no source offers the headers of the only kernel',
      script: script({ kernels: lacking }),
      given: (host) => offered(host, 'linux-headers-6.8.0-50-generic 1'),
      after: stopped(
        'the headers of Linux 6.8.0-45-generic',
        'linux-headers-6.8.0-45-generic',
        `${upgrade}, reboot, run again`,
        asking('linux-headers-6.8.0-45-generic'),
      ),
    },
    {
      name: 'stop the script if no source offers the headers of Proxmox VE',
      script: script(proxmox('6.8.12-4-pve', 'proxmox-kernel-6.8.12-4-pve-signed')),
      after: stopped(
        'the headers of Linux 6.8.12-4-pve',
        'proxmox-headers-6.8.12-4-pve',
        'upgrade the kernel (apt-get install proxmox-default-kernel), reboot, run again',
        asking('proxmox-headers-6.8.12-4-pve'),
      ),
    },
    {
      name: 'stop the script with a newer kernel whose headers are offered',
      script: all,
      given: (host) => offered(host, 'linux-headers-6.8.0-50-generic 1'),
      after: stopped(
        'the headers of Linux 6.8.0-45-generic',
        'linux-headers-6.8.0-45-generic',
        'reboot into Linux 6.8.0-50-generic, which is installed, and run again',
        allAsked,
      ),
    },
    {
      name: 'stop the script if no source offers the headers of the next kernel',
      script: all,
      given: (host) => offered(host, 'linux-headers-6.8.0-45-generic 1'),
      after: stopped(
        'the headers of Linux 6.8.0-50-generic',
        'linux-headers-6.8.0-50-generic',
        `complete the mirror, or ${upgrade}: the newest has its headers`,
        allAsked,
      ),
    },
    {
      name: "are none if only the kernel's own compiler is missing and not offered",
      script: script({ lacksToBuild: ['gcc-14'] }),
      after: { stdout: 'built\n', calls: [...updating, completing, asking('gcc-14')], files: updated },
    },
    {
      name: "are the kernel's own compiler alone if nothing else is missing",
      script: script({ lacksToBuild: ['gcc-14'] }),
      given: (host) => offered(host, 'gcc-14 14.2'),
      after: { ...installs([asking('gcc-14')], 'gcc-14'), files: updated },
    },
    {
      name: 'stop the script if no source offers those of a flavour, or a compiler',
      script: script({ packages }),
      given: (host) => offered(host, 'linux-image-generic 6.8.0-60.61'),
      after: stopped(
        'the headers of linux-image-generic',
        'linux-headers-generic',
        'complete the mirror',
        asking('linux-headers-generic'),
        policy,
      ),
    },
    ...['gcc', 'make'].map((tool) => ({
      name: `stop the script if no source offers ${tool}`,
      script: all,
      given: (host: ScratchHost) =>
        offered(host, ...allOffered.filter((each) => !each.startsWith(`${tool} `))),
      after: stopped(tool, tool, 'complete the mirror', allAsked, policy),
    })),
    {
      name: 'are installed only if nothing is removed for them',
      script: all,
      given: (host) => host.file(simulation, 'Remv kubelet [1.31]\n'),
      after: {
        code: 1,
        stderr: `failed: apt would also remove other packages
expected: none may be removed
seen: kubelet${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
        calls: [
          ...updating,
          completing,
          allAsked,
          policy,
          aptGetCall(
            `-s install ${allNames.join(' ').replace('headers-generic', 'headers-generic=6.8.0-60.61')}`,
          ),
        ],
        files: updated,
      },
    },
    {
      name: 'are none for the running kernel if only the next one matters',
      script: script({ kernels: [...lacking, { ...waiting, headers: true }] }, 'next'),
      after: { stdout: 'built\n', calls: [...updating, completing], files: updated },
    },
  ],
};

function stopped(what: string, expected: string, next: string, ...asked: readonly string[]) {
  return {
    code: 1,
    stderr: `failed: no package source offers ${what}
expected: ${expected}
seen: only other versions, if any
next: ${next}
`,
    calls: [...updating, completing, ...asked],
    files: updated,
  };
}

/** Kernels and packages of a host, and the packages to install. */
export const headersTable: readonly [string, Partial<BuildHost>, readonly string[]][] = [
  ['Ubuntu, general availability', image('linux-image-generic'), ['linux-headers-generic']],
  ['Ubuntu with a newer stack', image('linux-image-generic-hwe-24.04'), ['linux-headers-generic-hwe-24.04']],
  ['Ubuntu in a virtual machine', image('linux-image-virtual'), ['linux-headers-virtual']],
  ['Ubuntu, low latency', image('linux-image-lowlatency'), ['linux-headers-lowlatency']],
  ['Ubuntu by NVIDIA', image('linux-image-nvidia-64k-hwe-22.04'), ['linux-headers-nvidia-64k-hwe-22.04']],
  ['Ubuntu at Azure', image('linux-image-azure-lts-22.04'), ['linux-headers-azure-lts-22.04']],
  ['Ubuntu at Google', image('linux-image-gcp'), ['linux-headers-gcp']],
  ['Ubuntu at Amazon, a fixed version', image('linux-image-aws-6.8'), ['linux-headers-aws-6.8']],
  ['Ubuntu by an OEM', image('linux-image-oem-24.04b'), ['linux-headers-oem-24.04b']],
  ['Debian', image('linux-image-amd64'), ['linux-headers-amd64']],
  ['Debian in a cloud', image('linux-image-cloud-amd64'), ['linux-headers-cloud-amd64']],
  ['Debian on another architecture', image('linux-image-arm64-16k'), ['linux-headers-arm64-16k']],
  ['Debian, real-time', image('linux-image-rt-amd64'), ['linux-headers-rt-amd64']],
  ['Ubuntu, real-time', image('linux-image-realtime'), ['linux-headers-realtime']],
  ['Ubuntu at Oracle', image('linux-image-oracle-6.8'), ['linux-headers-oracle-6.8']],
  ['Proxmox VE', image('proxmox-default-kernel'), ['proxmox-default-headers']],
  ['Proxmox VE, a series', image('proxmox-kernel-6.8'), ['proxmox-headers-6.8']],
  ['Proxmox VE 7', image('pve-kernel-5.15'), ['pve-headers-5.15']],
  [
    'Proxmox VE without headers',
    proxmox('6.8.12-4-pve', 'proxmox-kernel-6.8.12-4-pve-signed'),
    ['proxmox-headers-6.8.12-4-pve'],
  ],
  [
    'Proxmox VE 7 without headers',
    proxmox('5.15.108-1-pve', 'pve-kernel-5.15.108-1-pve'),
    ['pve-headers-5.15.108-1-pve'],
  ],
  [
    'a kernel of backports',
    {
      kernels: [{ release: '6.12.9+bpo-amd64', headers: false, driver: false }],
      packages: { 'linux-image-6.12.9+bpo-amd64-unsigned': '6.12.9-1~bpo12+1' },
    },
    ['linux-headers-6.12.9+bpo-amd64'],
  ],
  [
    'installed headers',
    { packages: { ...image('linux-image-amd64').packages, 'linux-headers-amd64': '1' } },
    [],
  ],
  ['a kernel that is held', { ...image('linux-image-generic'), held: ['linux-image-generic'] }, []],
  [
    'images without a flavour',
    { packages: { 'linux-image-6.1.0-18-amd64-dbg': '1', 'linux-image-extra-virtual': '1' } },
    [],
  ],
  [
    'a newer unsigned kernel from a package',
    { kernels: kernelsWith(waiting), packages: { 'linux-image-unsigned-6.8.0-50-generic': '1' } },
    ['linux-headers-6.8.0-50-generic'],
  ],
  ['a newer kernel built on the host', { kernels: kernelsWith(waiting), packages: {} }, []],
  ['missing build tools', { lacksToBuild: ['make', 'gcc-12'] }, ['make']],
];

function proxmox(release: string, image: string) {
  return { kernels: [{ release, headers: false, driver: false }], packages: { [image]: '1' } };
}

function image(name: string) {
  return { packages: { ...bare.packages, [name]: '1' } };
}

function kernelsWith(next: BuildHost['kernels'][number]) {
  return running === undefined ? [] : [running, next];
}
