import { chmodSync } from 'node:fs';

import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import {
  asked,
  database,
  dnfCall,
  dnfMemory,
  lockCall,
  lockList,
  query,
  stateOf,
  updated,
  updating,
} from './dnf-host.ts';

const trial = '/opt/azp-fleet/trial';
const address = 'http://mirror/my,own/tool.rpm';
const script = dnf.install({
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0' } }],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
  trial: {
    package: 'tool',
    script:
      'grep -q good "$trial/files/content" || fail bad \'good\' "$(cat "$trial/files/content")" \'repair it\'',
  },
});
const fetching = [
  dnfCall('-q repoquery --location --arch=x86_64,noarch tool-2.0'),
  `curl -fsSL --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 -o ${trial}/package.rpm ${address}`,
];
const checking = [
  `rpmkeys --dbpath ${trial}/keys --import /etc/pki/rpm-gpg/azp-fleet-docker`,
  `rpmkeys --dbpath ${trial}/keys --checksig ${trial}/package.rpm`,
];
const unpacking = [`rpm2cpio ${trial}/package.rpm`, 'cpio --quiet -idm'];
const before = [...updating, lockCall('list'), query('tool'), dnfCall('--assumeno --allowerasing shell')];
const locked = { [lockList]: '644 other-0:1-1.*\ntool-5:1.9-1.el9.*\n' };

/** `signed`: what rpmkeys prints; undefined: the package cannot be fetched. */
const offers =
  (content: string, signed?: string) =>
  (host: ScratchHost): void => {
    host.file('/run/location', `http://other/tool.rpm\n${address}\n`);
    host.program(
      'curl',
      signed === undefined
        ? "echo 'curl: (22) 404' >&2; exit 22"
        : 'while [ "$1" != -o ]; do shift; done; : >"$2"',
    );
    host.program(
      'rpmkeys',
      `case $* in *--checksig*) echo 'package.rpm: ${signed ?? ''}' ${signed === 'digests OK' ? '>&2; exit 1' : ''} ;; esac`,
    );
    host.program('rpm2cpio', '');
    host.program('cpio', `stat -c %a . ..; ls; echo ${content} >content`);
    host.program('dnf', `case "$*" in *-y*) [ ! -e ${trial} ] || ls ${trial} ;; esac\n${dnfMemory}`);
  };
const folder = { '/opt/azp-fleet': '755 /' };
const unpacked = '700\n700\n';

/** A package that is looked into before it is installed. */
export const trialCases: readonly ScriptCase[] = [
  {
    name: 'looks into a signed package first, and leaves nothing of that, and of an earlier time',
    script,
    given: (host) => {
      offers('good', 'digests signatures OK')(host);
      host.file(`${trial}/files/old`);
      chmodSync(host.at('/opt/azp-fleet'), 0o700);
    },
    after: {
      stdout: `${unpacked}Complete!\n`,
      calls: [...before, ...fetching, ...checking, ...unpacking, dnfCall('-y --allowerasing shell')],
      files: {
        ...updated,
        ...folder,
        ...Object.fromEntries(['', '/files', '/files/old'].map((each) => [`${trial}${each}`, 'gone'])),
        ...asked('install tool-2.0 $\nrun $\n', 'install tool-2.0 $\nrun $\n'),
        [database]: `644 ${stateOf('old 0:1.0-1.el9', 'tool 5:2.0-1.el9')}`,
        [lockList]: '644 other-0:1-1.*\ntool-5:2.0-1.el9.*\n',
      },
    },
  },
  {
    name: 'installs nothing if the package does not pass',
    script,
    given: offers('broken', 'digests signatures OK'),
    after: {
      code: 1,
      stdout: unpacked,
      stderr: 'failed: bad\nexpected: good\nseen: broken\nnext: repair it\n',
      calls: [...before, ...fetching, ...checking, ...unpacking],
      files: { ...updated, ...folder, ...locked, ...asked('install tool-2.0 $\nrun $\n') },
    },
  },
  {
    name: 'runs nothing of a package that its vendor has not signed',
    script,
    given: offers('good', 'digests OK'),
    after: {
      code: 1,
      stderr: `failed: tool-2.0 is not signed by its vendor
expected: signatures OK
seen: package.rpm: digests OK
next: check the mirrors in the inventory
`,
      calls: [...before, ...fetching, ...checking],
      files: { ...updated, ...folder, ...locked, ...asked('install tool-2.0 $\nrun $\n') },
    },
  },
  {
    name: 'installs nothing if the program that unpacks the package is missing',
    script,
    given: (host) => {
      offers('good', 'digests signatures OK')(host);
      host.without('cpio');
    },
    after: {
      code: 1,
      stderr: `failed: cpio is not installed
expected: cpio, to look into a package
seen: none
next: sudo dnf install cpio
`,
      calls: [...before, ...fetching, ...checking],
      files: { ...updated, ...folder, ...locked, ...asked('install tool-2.0 $\nrun $\n') },
    },
  },
  {
    name: 'installs nothing if the package cannot be fetched for that',
    script,
    given: offers('good'),
    after: {
      code: 1,
      stderr: `failed: ${address} cannot be fetched
expected: the package
seen: curl: (22) 404
next: check the network, the proxy and the mirrors in the inventory, and run again
`,
      calls: [...before, ...fetching],
      files: { ...updated, ...folder, ...locked, ...asked('install tool-2.0 $\nrun $\n') },
    },
  },
];
