import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';

import type { ScriptCase } from '../../../../support/scratch/case.ts';
import {
  aptGetCall,
  completing,
  database,
  has,
  lockedDuring,
  lockedLater,
  lockNow,
  simulation,
  updated,
  updating,
} from './apt-host.ts';

const transaction = {
  vendor: 'docker',
  packages: [{ name: 'tool' }],
  remove: [],
  mayRemove: ['*'],
  proxy: { noProxy: [] },
  before: 'bring headers more; pin pinned',
} as const;
const agreed = apt.install(transaction, { removes: ['gdm3'], downgrades: ['libtool', 'libc?'] });
const nothing = apt.install(transaction, { removes: [], downgrades: [] });

const alone = apt.install({ ...transaction, before: '' }, { removes: [], downgrades: [] });

const lower = 'The following packages will be DOWNGRADED:\n  libtool libc6:i386\n';
const opening = [...updating, 'apt-mark unhold tool'];
const looked = aptGetCall('-s install --allow-downgrades tool');
const brought = ['headers more', 'pinned'].flatMap((names) => [
  aptGetCall(`-s install ${names}`),
  aptGetCall(`install ${names}`),
]);
const completed = [
  completing,
  aptGetCall('-s install --allow-downgrades lib=1'),
  aptGetCall('install --allow-downgrades lib=1'),
];
const stopped = (what: string, expected: string, seen: string) => ({
  code: 1,
  stderr: `failed: apt would also ${what} other packages
expected: ${expected}
seen: ${seen}${' '}
next: run again and confirm the new plan
`,
  calls: [...opening, aptGetCall('-s install headers more'), 'apt-mark hold tool'],
  files: updated,
});

/** The pin of another branch was replaced, and of its packages one is installed. */
const otherBranch = apt.install({
  ...transaction,
  remove: ['drv-pin-570', 'drv-570'],
  mayRemove: [],
  before: 'pin drv-pin-580',
});

/** The user confirmed the announced removals and downgrades. */
export const boundCases: readonly ScriptCase[] = [
  {
    name: 'makes the announced changes',
    script: agreed,
    given: (host) => host.file(simulation, `${lower}Remv gdm3 [43]\n`),
    after: {
      stdout: 'apt did install headers more\napt did install pinned\napt did install tool\n',
      calls: [
        ...opening,
        ...brought,
        aptGetCall('-s install --allow-downgrades tool'),
        aptGetCall('install --allow-downgrades tool'),
        'apt-mark hold tool',
      ],
      files: {
        ...updated,
        '/var/lib/dpkg/state':
          '644 old 1.0 installed\nheaders 9.9 installed\nmore 9.9 installed\npinned 9.9 installed\ntool 9.9 installed\n',
      },
    },
  },
  {
    name: 'checks again after it waited for unattended-upgrades, which made it a downgrade',
    script: alone,
    given: (host) => {
      lockedLater(host, '/var/lib/dpkg/lock-frontend', 812);
      host
        .file('/proc/812/comm', 'unattended-upgr\n')
        .file('/var/lib/simulation.then', lower)
        .program('apt-get', `case $* in *' -s '*) cat ${simulation} 2>/dev/null || ${lockNow} ;; esac`)
        .program('sleep', `cp /var/lib/simulation.then ${simulation}; : >/proc/locks`);
    },
    after: {
      ...stopped('downgrade', 'none may be downgraded', 'libtool libc6:i386'),
      stdout: 'waiting, because unattended-upgr (pid 812) holds /var/lib/dpkg/lock-frontend (0 s)\n',
      calls: [...opening, looked, 'sleep 2', looked, 'apt-mark hold tool'],
      files: { ...updated, [simulation]: `644 ${lower}` },
    },
  },
  {
    name: 'checks again what it had to complete after it waited',
    script: alone,
    given: (host) => {
      lockedLater(host, '/var/lib/dpkg/lock-frontend', 812);
      host.program(
        'apt-get',
        `case $* in
  *' --fix-broken '*) echo 'Inst lib (1 Docker:x [amd64])' ;;
  *lib=1*) ;;
  *' -s '*) echo x >>/run/.asked
    case $(wc -l </run/.asked) in 1) ${lockNow} ;; 2) exit 100 ;; *) echo 'Remv gdm3 [43]' ;; esac ;;
esac`,
      );
    },
    after: {
      ...stopped('remove', 'none may be removed', 'gdm3'),
      stdout: 'waiting, because unknown (pid 812) holds /var/lib/dpkg/lock-frontend (0 s)\n',
      calls: [...opening, looked, 'sleep 2', looked, ...completed, looked, 'apt-mark hold tool'],
    },
  },
  {
    name: 'asks again for what it brings first once it had to complete other packages',
    script: nothing,
    given: (host) =>
      host.program(
        'apt-get',
        `case $* in
  *' --fix-broken '*) echo 'Inst lib (1 Docker:x [amd64])' ;;
  *' -s '*headers*) [ -e /run/.completed ] || exit 100 ;;
  *' -s '*) ;;
  *lib=1*) : >/run/.completed ;;
esac`,
      ),
    after: {
      calls: [
        ...opening,
        aptGetCall('-s install headers more'),
        ...completed,
        ...brought,
        looked,
        aptGetCall('install --allow-downgrades tool'),
        'apt-mark hold tool',
      ],
      files: updated,
    },
  },
  {
    name: 'stops if another package with a similar name would be removed',
    script: agreed,
    given: (host) => host.file(simulation, 'Remv gdm3 [43]\nRemv gdm3-data [43]\n'),
    after: stopped('remove', 'only gdm3 may be removed', 'gdm3-data'),
  },
  {
    name: 'stops if another package would be downgraded',
    script: agreed,
    given: (host) => host.file(simulation, `${lower}  libold libtool\nThe following:\n  other\n`),
    after: stopped('downgrade', 'only libtool, libc? may be downgraded', 'libold'),
  },
  {
    name: 'stops at any removal or downgrade if none was announced',
    script: nothing,
    given: (host) => host.file(simulation, 'Remv gdm3 [43]\n'),
    after: stopped('remove', 'none may be removed', 'gdm3'),
  },
  {
    name: 'stops at any downgrade if the plan has none',
    script: nothing,
    given: (host) => {
      host.file(simulation, lower);
      has(host, 'tool 1');
    },
    after: stopped('downgrade', 'none may be downgraded', 'libtool libc6:i386'),
  },
  {
    name: 'does not name a package that it has purged: a folder of packages does not offer it',
    script: otherBranch,
    given: (host) => {
      host.file(database, 'drv-pin-570 1.0 config-files\ndrv-570 1.0 installed\n');
      lockedDuring(host, 'install drv-pin-580', '/var/lib/dpkg/lock', 812);
    },
    after: {
      stdout:
        'apt did install drv-pin-580\nwaiting, because unknown (pid 812) holds /var/lib/dpkg/lock (0 s)\napt did install tool drv-570-\n',
      calls: [
        ...updating,
        'apt-mark unhold drv-pin-570 drv-570',
        completing,
        aptGetCall('-s install drv-pin-580'),
        aptGetCall('install drv-pin-580'),
        'sleep 2',
        'dpkg --purge drv-pin-570',
        aptGetCall('-s install --allow-downgrades tool drv-570-'),
        aptGetCall('install --allow-downgrades tool drv-570-'),
        'apt-mark hold tool',
      ],
      files: {
        ...updated,
        [database]: '644 drv-pin-570 1.0 config-files\ndrv-pin-580 9.9 installed\ntool 9.9 installed\n',
      },
    },
  },
  {
    name: 'names a pinning package that is still installed',
    script: otherBranch,
    given: (host) => has(host, 'drv-pin-570 1.0', 'drv-570 1.0'),
    after: {
      stdout: 'apt did install drv-pin-580\napt did install tool drv-pin-570- drv-570-\n',
      calls: [
        ...updating,
        'apt-mark unhold drv-pin-570 drv-570',
        completing,
        aptGetCall('-s install drv-pin-580'),
        aptGetCall('install drv-pin-580'),
        aptGetCall('-s install --allow-downgrades tool drv-pin-570- drv-570-'),
        aptGetCall('install --allow-downgrades tool drv-pin-570- drv-570-'),
        'apt-mark hold tool',
      ],
      files: { ...updated, [database]: '644 drv-pin-580 9.9 installed\ntool 9.9 installed\n' },
    },
  },
  {
    name: 'stops if a package besides those of the other branch would be removed',
    script: otherBranch,
    given: (host) => {
      has(host, 'drv-570 1.0');
      host.file(simulation, 'Remv drv-570 [1.0]\nRemv theirs [1.0]\n');
    },
    after: {
      code: 1,
      stderr: `failed: apt would also remove other packages
expected: only drv-pin-570, drv-570 may be removed
seen: theirs${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
      calls: [...updating, 'apt-mark unhold drv-570', completing, aptGetCall('-s install drv-pin-580')],
      files: updated,
    },
  },
];
