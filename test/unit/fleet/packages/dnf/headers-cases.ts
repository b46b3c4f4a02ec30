import type { BuildHost } from '../../../../../src/fleet/packages/names.ts';
import { bringFunctions } from '../../../../../src/fleet/packages/dnf/prelude.ts';
import { sourceFunctions } from '../../../../../src/fleet/packages/dnf/source.ts';
import { kernelBuild } from '../../../../../src/fleet/packages/dnf/headers.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { builderCases } from './builder-cases.ts';
import { around, epelCases } from './epel-cases.ts';
import { database, dnfCall, dnfHost, offered, query, stateOf, updated, updating } from './dnf-host.ts';

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

const build = around(kernelBuild(bare, 'all').script);
const waiting = around(
  kernelBuild(
    { ...bare, kernels: [...bare.kernels, { release: newer, headers: true, driver: false }] },
    'all',
  ).script,
);
const uek = '5.15.0-307.178.5.el8uek.x86_64';
const uekDevel = `kernel-uek-devel-${uek}`;
const oracle = around(
  kernelBuild({ ...bare, kernels: [{ release: uek, headers: false, driver: false }], packages: {} }, 'all')
    .script,
);
const asks = [devel, modules, 'gcc'].map(query);
const lacks = (what: string, way: string, ...names: readonly string[]) => ({
  code: 1,
  stderr: `failed: no package source offers ${what}
expected: ${names.at(-1) ?? ''}
seen: only other versions, if any
next: ${way}
`,
  calls: [...updating, ...names.map(query)],
  files: updated,
});
const upgrade = 'upgrade the kernel (sudo dnf upgrade kernel), reboot, run again';
const [environment, setting] = [
  '/etc/dkms/azp-fleet-compiler.sh',
  '/etc/dkms/framework.conf.d/azp-fleet-compiler.conf',
];
const used = {
  [environment]: `644 # Written by azp-fleet: these kernels are built with a newer compiler than the system's.
# shellcheck shell=sh
case \${kernelver:-} in 5.15.*.el8uek.*) . /opt/rh/gcc-toolset-11/enable ;; esac
`,
  [setting]: '644 build_environment="/etc/dkms/azp-fleet-compiler.sh"\n',
};
const oracleCalls = [
  ...updating,
  ...[uekDevel, 'gcc-toolset-11-gcc', 'gcc'].map(query),
  dnfCall(`-y install ${uekDevel} gcc-toolset-11-gcc gcc`),
];
const oracleInstalled = {
  ...updated,
  [database]: `644 ${stateOf(`${uekDevel} 0:1-1`, 'gcc-toolset-11-gcc 0:11-1', 'gcc 0:8-1')}`,
};

/** Functions that the scripts of this suite call in all ways. */
const called = [sourceFunctions, bringFunctions.slice(bringFunctions.indexOf('more_packages()'))];

export const headersSuite: ScriptSuite = {
  name: 'packages that build modules on dnf hosts',
  elsewhere: called.reduce(
    (parts, own) => parts.flatMap((part) => part.split(own)),
    around('HERE').split('HERE'),
  ),
  given: (host) => {
    dnfHost(host);
    offered(host, `${devel} 0:1-1`, `${modules} 0:1-1`, 'gcc 0:11-1', 'epel-release 0:9-10');
  },
  cases: [
    {
      name: 'are headers, their companions and the compiler, in one transaction',
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
      name: 'are only headers if no source offers the optional ones',
      script: build,
      given: (host) => offered(host, `${devel} 0:1-1`, 'gcc 0:11-1'),
      after: {
        stdout: `dnf did install ${devel} gcc\nbuilt\n`,
        calls: [...updating, ...asks, dnfCall(`-y install ${devel} gcc`)],
        files: { ...updated, [database]: `644 ${stateOf(`${devel} 0:1-1`, 'gcc 0:11-1')}` },
      },
    },
    ...[
      { script: build, release: running, name: devel },
      { script: oracle, release: uek, name: uekDevel },
    ].map(({ script, release, name }) => ({
      name: `end the script if no source offers ${name}`,
      script,
      given: (host: ScratchHost) => offered(host, 'gcc 0:11-1'),
      after: lacks(`the headers of Linux ${release}`, upgrade, name),
    })),
    ...[
      { script: build, names: [devel, modules] },
      { script: oracle, names: [uekDevel, 'gcc-toolset-11-gcc'] },
    ].map(({ script, names }) => ({
      name: `end the script if no source offers a compiler beside ${names.join(' and ')}`,
      script,
      given: (host: ScratchHost) => offered(host, ...names.map((name) => `${name} 0:1-1`)),
      after: lacks('gcc', 'complete the mirror', ...names, 'gcc'),
    })),
    {
      name: 'end the script with another next action if a newer kernel is installed',
      script: waiting,
      given: (host) => offered(host, 'gcc 0:11-1'),
      after: lacks(
        `the headers of Linux ${running}`,
        `reboot into Linux ${newer}, which is installed, and run again`,
        devel,
      ),
    },
    {
      name: "include the compiler of Oracle's kernel, which DKMS uses for that kernel alone",
      script: oracle,
      given: (host) => {
        host.file('/etc/dkms/framework.conf', '# build_environment=""\n');
        offered(host, `${uekDevel} 0:1-1`, 'gcc 0:8-1', 'gcc-toolset-11-gcc 0:11-1');
      },
      run: { umask: '077' },
      after: {
        stdout: `dnf did install ${uekDevel} gcc-toolset-11-gcc gcc\nbuilt\n`,
        calls: oracleCalls,
        files: { ...oracleInstalled, '/etc/dkms/framework.conf.d': '755 /', ...used },
      },
    },
    {
      name: 'include that compiler again for later kernels',
      script: oracle,
      given: (host) => {
        host
          .file(environment, 'of an older version')
          .file(setting, `build_environment="${host.at(environment)}"\n`);
        offered(host, `${uekDevel} 0:1-1`, 'gcc 0:8-1', 'gcc-toolset-11-gcc 0:11-1');
      },
      after: {
        stdout: `dnf did install ${uekDevel} gcc-toolset-11-gcc gcc\nbuilt\n`,
        calls: oracleCalls,
        files: { ...oracleInstalled, [environment]: used[environment] ?? '' },
      },
    },
    ...['/etc/dkms/framework.conf', '/etc/dkms/framework.conf.d/own.conf'].map((own) => ({
      name: `follow the DKMS configuration of the owner in ${own}`,
      script: oracle,
      given: (host: ScratchHost) => {
        host.file(own, ' build_environment="/opt/gcc12/env"\n');
        host.file(database, 'gcc-toolset-11-gcc 0 11 1 x86_64\n');
        offered(host, `${uekDevel} 0:1-1`, 'gcc 0:8-1');
      },
      after: {
        stdout: `dnf did install ${uekDevel} gcc\nbuilt\n`,
        calls: [...updating, ...[uekDevel, 'gcc'].map(query), dnfCall(`-y install ${uekDevel} gcc`)],
        files: {
          ...updated,
          [database]: `644 gcc-toolset-11-gcc 0 11 1 x86_64\n${stateOf(`${uekDevel} 0:1-1`, 'gcc 0:8-1')}`,
        },
      },
    })),
    {
      name: 'end the script if no source offers that compiler',
      script: oracle,
      given: (host) => offered(host, `${uekDevel} 0:1-1`, 'gcc 0:8-1'),
      after: {
        code: 1,
        stderr: `failed: no package source offers the compiler of Linux ${uek}
expected: gcc-toolset-11-gcc
seen: only other versions, if any
next: complete the mirror
`,
        calls: [...updating, query(uekDevel), query('gcc-toolset-11-gcc')],
        files: updated,
      },
    },
    ...epelCases,
    ...builderCases,
  ],
};
