import { consequenceFilters, dnfLocks } from '../../../../../src/fleet/packages/dnf/prelude.ts';
import { lockHolder } from '../../../../../src/fleet/packages/shell.ts';
import type { ScriptCase, ScriptSuite } from '../../../../support/scratch/case.ts';
import {
  asked,
  database,
  dnfCall,
  dnfHost,
  has,
  lockCall,
  lockList,
  offered,
  updated,
  updating,
  would,
  wouldReplace,
  leftOut,
  wrong,
} from './dnf-host.ts';
import { boundCases } from './bound-cases.ts';
import { branchCases, epel } from './branch-cases.ts';
import { downloadsCases } from './downloads-cases.ts';
import {
  installCalls,
  engine,
  checkCalls,
  oneRequest,
  request,
  twoRequests,
  success,
  environment,
} from './engine-transaction.ts';
import { listsCases } from './lists-cases.ts';
import { trialCases } from './trial-cases.ts';

const before = { [lockList]: '644 other-0:1-1.*\ntool-5:1.9-1.el9.*\n' };

/** After the installation of the versionlock plugin, too. */
const withPlugin: ScriptCase['after'] = {
  ...success,
  stdout: `dnf did install dnf-command(versionlock)\n${success.stdout}`,
  calls: [
    ...updating,
    lockCall('list'),
    dnfCall(`-y install 'dnf-command(versionlock)'`),
    ...installCalls.slice(3),
  ],
  files: {
    ...success.files,
    [lockList]: '644 tool-5:2.0-1.el9.*\nextra-0:9.9-1.el9.*\n',
  },
};

export const installSuite: ScriptSuite = {
  name: 'installing packages with dnf',
  elsewhere: [consequenceFilters, lockHolder(dnfLocks), epel],
  given: (host) => {
    dnfHost(host);
    has(host, 'tool 5:1.9-1.el9', 'old 0:1.0-1.el9');
    offered(
      host,
      'tool 5:2.1-2.el9',
      'tool 5:2.0-1.el9',
      'tool 5:12.0-1.el9',
      'tool2 5:2.0-9.el9',
      'extra 0:9.9-1.el9',
    );
    host.file(lockList, 'other-0:1-1.*\ntool-5:1.9-0.el9.*\n');
  },
  cases: [
    {
      name: 'installs exactly the requested version, of any epoch and release, and locks it',
      script: engine,
      after: success,
    },
    {
      name: 'removes announced packages of any architecture',
      script: engine,
      given: (host) => {
        has(host, 'tool 5:1.9-1.el9', 'old 0:1.0-1.el9', 'absent 0:1-1');
        would(
          host,
          'Upgrading:',
          ' tool x86_64 5:2.0-1.el9 docker 6 k',
          'Removing:',
          ' old x86_64 1.0-1 @os 4',
          ' absent noarch 1-1 @os 4',
          ' old-plugin i686 1.0-1 @os 4',
        );
      },
      after: {
        ...success,
        files: { ...success.files, ...asked(...[1, 2].map(() => request.replace('old', 'old absent'))) },
      },
    },
    {
      name: 'stops if another package would be removed, and names it',
      script: engine,
      given: (host) => wouldReplace(host, 'old.x86_64', 'kubeadm.noarch', 'kubelet.i686'),
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: dnf would also remove other packages
expected: only old, absent, old-* may be removed
seen: kubeadm kubelet:i686${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
        calls: [...checkCalls],
        files: { ...updated, ...oneRequest, ...before },
      },
    },
    {
      name: 'stops if dnf found no solution, with the reason',
      script: engine,
      given: (host) =>
        host.file(
          '/run/answer',
          'Error: \n Problem: conflicting requests\n  - nothing provides dkms needed by tool-2.0\n',
        ),
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: dnf found no solution
expected: tool-2.0 extra
seen: conflicting requests nothing provides dkms needed by tool-2.0${' '}
next: complete the mirror, or check the versionlocks and excludes of the host
`,
        calls: [...checkCalls],
        files: { ...updated, ...oneRequest, ...before },
      },
    },
    {
      name: 'names the offered versions if the requested one is missing',
      script: engine,
      given: (host) =>
        offered(host, ...['6', '5', '4', '3', '2', '1'].map((each) => `tool 5:1.${each}-1.el9`)),
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: no package source offers tool 2.0-
expected: a version that begins with 2.0-
seen: 5:1.6-1.el9 5:1.5-1.el9 5:1.4-1.el9 5:1.3-1.el9 5:1.2-1.el9${' '}
next: correct the version in the inventory, or complete the mirror
`,
        calls: [...checkCalls.slice(0, -1), checkCalls.at(-2) ?? ''],
        files: { ...updated, ...before },
      },
    },
    {
      name: 'reports dnf’s error although its shell exits with 0, and locks installed packages',
      script: engine,
      given: (host) =>
        host.file('/run/trouble', 'Error: Transaction test error:\n  file /usr/bin/tool conflicts\n'),
      after: {
        code: 1,
        stdout: `${environment}Error: Transaction test error:\n  file /usr/bin/tool conflicts\n`,
        stderr: `failed: dnf could not install the packages
expected: tool-2.0 extra
seen: Transaction test error:${' '}
next: check the end of /var/log/dnf.log on the host
`,
        calls: installCalls,
        files: { ...updated, ...twoRequests, ...success.files },
      },
    },
    {
      name: 'fails if dnf did not install it',
      script: engine,
      given: (host) => {
        has(host, 'tool 5:1.8-1.el9', 'tool 5:1.9-1.el9', 'old 0:1.0-1.el9');
        host.file('/run/idle');
      },
      after: {
        code: 1,
        stdout: `${environment}Nothing to do.\n`,
        stderr: wrong('tool', '2.0-', '5:1.9-1.el9'),
        calls: [...checkCalls, dnfCall('-y --allowerasing shell')],
        files: {
          ...updated,
          ...twoRequests,
          [lockList]: '644 other-0:1-1.*\ntool-5:1.8-1.el9.*\ntool-5:1.9-1.el9.*\n',
        },
      },
    },
    {
      name: 'fails if dnf left out a package without a version',
      script: engine,
      given: (host) => {
        has(host, 'tool 5:2.0-1.el9');
        host.file('/run/idle').file(`${lockList}.new`, 'cut-0:1-1.*\n', { mode: 0o600 });
      },
      after: {
        code: 1,
        stdout: `${environment}Nothing to do.\n`,
        stderr: leftOut('extra'),
        calls: [...checkCalls, dnfCall('-y --allowerasing shell')],
        files: {
          ...updated,
          ...asked(...['', ''].map(() => 'install tool-2.0 extra $\nrun $\n')),
          [`${lockList}.new`]: 'gone',
          [lockList]: '644 other-0:1-1.*\ntool-5:2.0-1.el9.*\n',
        },
      },
    },
    {
      name: 'leaves the lock list unchanged if nothing is installed',
      script: engine,
      given: (host) => {
        host.file(database).file(lockList, 'other-0:1-1.*\n');
        would(host, 'Removing:', ' kubelet x86_64 1-1 @os 4');
      },
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: dnf would also remove other packages
expected: only old, absent, old-* may be removed
seen: kubelet${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
        calls: checkCalls,
        files: { ...updated, ...asked('install tool-2.0 extra $\nrun $\n') },
      },
    },
    {
      name: 'installs the versionlock plugin if it is missing',
      script: engine,
      given: (host) => host.drop(lockList),
      after: withPlugin,
    },
    {
      name: 'writes the lock list that the installed plugin lacks',
      script: engine,
      given: (host) => host.drop(lockList).file('/run/listless'),
      after: withPlugin,
    },
    ...boundCases,
    ...branchCases,
    ...downloadsCases,
    ...listsCases,
    ...trialCases,
  ],
};
