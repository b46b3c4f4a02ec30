import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import {
  asked,
  database,
  dnfCall,
  has,
  lockCall,
  lockList,
  query,
  stateOf,
  updated,
  updating,
  would,
  wouldReplace,
  leftOut,
} from './dnf-host.ts';

const transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool' }],
  remove: [],
  mayRemove: ['*'],
  proxy: { noProxy: [] },
} as const;
const agreed = dnf.install(transaction, { removes: ['gdm'], downgrades: ['libtool', 'libc?'] });
const nothing = dnf.install(transaction, { removes: [], downgrades: [] });
const removing = (...names: readonly string[]) => [
  'Removing:',
  ...names.map((name) => ` ${name} x86_64 43-1 @os 4`),
];
const lowering = (...names: readonly string[]) => [
  'Downgrading:',
  ...names.map((name) => ` ${name} x86_64 1-1 os 4`),
];

const request = 'install tool $\nrun $\n';
const opening = [...updating, lockCall('list')];
const simulateCall = dnfCall('--assumeno --allowerasing shell');
const stopped = (what: string, expected: string, seen: string) => ({
  code: 1,
  stderr: `failed: dnf would also ${what} other packages
expected: ${expected}
seen: ${seen}${' '}
next: run again and confirm the new plan
`,
  calls: [...opening, simulateCall],
  files: { ...updated, ...asked(request), [lockList]: '644 other-0:1-1.*\ntool-5:1.9-1.el9.*\n' },
});

/** The user confirmed the announced removals and downgrades. */
export const boundCases: readonly ScriptCase[] = [
  {
    name: 'makes the announced changes',
    script: agreed,
    given: (host) => would(host, ...lowering('libtool', 'libc6'), ...removing('gdm')),
    after: {
      stdout: 'Complete!\n',
      calls: [...opening, simulateCall, dnfCall('-y --allowerasing shell')],
      files: {
        ...updated,
        ...asked(request, request),
        [database]: `644 ${stateOf('old 0:1.0-1.el9', 'tool 5:2.1-2.el9')}`,
        [lockList]: '644 other-0:1-1.*\ntool-5:2.1-2.el9.*\n',
      },
    },
  },
  {
    name: 'stops if another package with a similar name would be removed',
    script: agreed,
    given: (host) => wouldReplace(host, 'gdm.x86_64', 'gdm-data.i686'),
    after: stopped('remove', 'only gdm may be removed', 'gdm-data:i686'),
  },
  {
    name: 'stops if another package would be downgraded',
    script: agreed,
    given: (host) => would(host, ...lowering('libold', 'libtool', 'libolder')),
    after: stopped('downgrade', 'only libtool, libc? may be downgraded', 'libold libolder'),
  },
  {
    name: 'stops at any removal if none was announced',
    script: nothing,
    given: (host) => wouldReplace(host, 'gdm.i686'),
    after: stopped('remove', 'none may be removed', 'gdm:i686'),
  },
  {
    name: 'stops at any downgrade if the plan has none',
    script: nothing,
    given: (host) => would(host, ...lowering('libtool')),
    after: stopped('downgrade', 'none may be downgraded', 'libtool'),
  },
  {
    name: 'locks only installed packages, once each',
    script: dnf.hold(['my-own-tool', 'tool', 'absent', 'tool'], ['too*', 'old']),
    given: (host) => {
      has(host, 'my-own-tool 0:1.9-1', 'tool 5:1.9-1.el9', 'toolbox 0:1.9-3.el9', 'old 0:1.0-1.el9');
      host.file(lockList, 'other-0:1-1.*\ntool\nmy-own-tool\ntool-5:1.9-0.el9.*\n');
      host.file(`${lockList}.new`, 'cut-0:1-1.*\n', { mode: 0o600 });
    },
    after: {
      calls: [lockCall('list')],
      files: {
        [lockList]: `644 ${['other-0:1-1', 'my-own-tool-0:1.9-1', 'tool-5:1.9-1.el9', 'toolbox-0:1.9-3.el9'].map((each) => `${each}.*\n`).join('')}`,
        [`${lockList}.new`]: 'gone',
      },
    },
  },
  {
    name: 'fails if dnf did not install a package without a version',
    script: nothing,
    given: (host) => host.file(database).file('/run/idle'),
    after: {
      code: 1,
      stdout: 'Nothing to do.\n',
      stderr: leftOut('tool'),
      calls: [...opening, simulateCall, dnfCall('-y --allowerasing shell')],
      files: { ...updated, ...asked(request, request), [lockList]: '644 other-0:1-1.*\n' },
    },
  },
  {
    name: 'installs packages without a requested version',
    script: dnf.install({
      ...transaction,
      packages: [],
      mayRemove: [],
      before: 'bring headers',
      after: 'newest tool 2.0-',
    }),
    given: (host) => host.file('/var/lib/dnf/offers', 'headers 0:1-1\ntool 5:2.0-1.el9\n'),
    after: {
      stdout: 'dnf did install headers\n5:2.0-1.el9\n',
      calls: [...updating, dnfCall('-y install headers'), query('tool')],
      files: {
        ...updated,
        [database]: `644 ${stateOf('tool 5:1.9-1.el9', 'old 0:1.0-1.el9', 'headers 0:1-1')}`,
      },
    },
  },
];
