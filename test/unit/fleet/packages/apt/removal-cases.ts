import { readFileSync } from 'node:fs';

import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { aptGetCall, aptHost, lockedLater, lockNow, simulation, unpackedAgain } from './apt-host.ts';

const script = apt.remove(['drv', 'drv-pin', 'libdrv1']);
const seen = ['dpkg --audit', aptGetCall('-s --allow-change-held-packages remove drv drv-pin libdrv1')];
const done = [
  'apt-mark unhold drv drv-pin libdrv1',
  aptGetCall('purge drv-pin'),
  aptGetCall('remove drv libdrv1'),
];
const purged = '/var/lib/dpkg/purged';
/** No source offers it: apt does not know a purged package. */
const aptGet = `case " $* " in *' -s '*) cat ${simulation}; exit ;; esac
case " $* " in *' purge drv-pin '*) touch ${purged} ;; *drv-pin*) [ ! -e ${purged} ] || { echo 'E: Unable to locate package drv-pin' >&2; exit 100; } ;; esac`;
/** What dpkg was unpacking when it was killed. */
const torn = '/var/lib/dpkg/torn';

export const removalSuite: ScriptSuite = {
  name: 'removing packages with apt',
  given: (host) => {
    aptHost(host);
    // Files of a package; without a package, no output and an error.
    host.program(
      'dpkg-query',
      `case "$1 $2" in
  '-L drv') echo /etc/apt/preferences.d; echo /usr/bin/drv ;;
  '-L drv-pin') echo /etc/apt/preferences.d; echo /etc/apt/preferences.d/drv-pin ;;
  '-W '*) cat ${torn} 2>/dev/null || : ;;
  *) echo "dpkg-query: package '$2' is not installed" >&2; exit 1 ;;
esac`,
      { silent: true },
    );
    host
      .program('apt-get', aptGet)
      .folder('/var/lib/dpkg')
      .file(simulation, 'Remv drv [1.0]\nRemv drv-pin [1.0]\nPurg libdrv1:i386 [1.0]\n');
  },
  cases: [
    {
      name: 'purges a package that pins others; the settings of the others stay',
      script,
      after: { calls: [...seen, ...done], files: { [purged]: '644 ' } },
    },
    {
      name: 'purges nothing if no package pins others',
      script,
      given: (host) => host.program('dpkg-query', 'exit 1', { silent: true }),
      after: {
        calls: [...seen, 'apt-mark unhold drv drv-pin libdrv1', aptGetCall('remove drv drv-pin libdrv1')],
      },
    },
    {
      name: 'waits for the process that locks the database, also between its own programs',
      script,
      given: (host) => {
        lockedLater(host, '/var/lib/dpkg/lock', 812);
        host
          .file('/proc/locks', readFileSync(host.at('/var/lib/locks.then')))
          .program('apt-get', `case " $* " in *' -s '*) ${lockNow} ;; esac\n${aptGet}`);
      },
      after: {
        stdout: 'waiting, because unknown (pid 812) holds /var/lib/dpkg/lock (0 s)\n'.repeat(2),
        calls: ['sleep 2', ...seen, ...done.slice(0, 1), 'sleep 2', ...done.slice(1)],
        files: { '/proc/locks': '644 ', [purged]: '644 ' },
      },
    },
    {
      name: 'finishes an interrupted removal first',
      script,
      given: (host) => host.program('dpkg', '[ "$1" != --audit ] || echo "drv is half-configured"'),
      after: {
        calls: [
          'dpkg --audit',
          'dpkg --configure -a --force-confdef --force-confold',
          ...seen.slice(1),
          ...done,
        ],
        files: { [purged]: '644 ' },
      },
    },
    {
      name: 'has a package that dpkg was unpacking when it was killed unpacked again: dpkg removes no such package',
      script,
      given: (host) =>
        host
          .program('dpkg', '[ "$1" != --audit ] || echo "drv is in a mess"')
          .file(torn, 'ok lib=1\nreinstreq drv=1.0\n'),
      after: {
        calls: [
          'dpkg --audit',
          'dpkg --configure -a --force-confdef --force-confold',
          unpackedAgain('drv=1.0'),
          ...seen.slice(1),
          ...done,
        ],
        files: { [purged]: '644 ' },
      },
    },
    {
      name: 'removes no package and no hold if others would be removed, and names them',
      script,
      given: (host) =>
        host.file(simulation, 'Remv drv [1.0]\nRemv cuda-demo [12.4]\nRemv cuda-tools [12.4]\n'),
      after: {
        code: 1,
        stderr: `failed: apt would also remove other packages
expected: only drv, drv-pin, libdrv1 may be removed
seen: cuda-demo cuda-tools${' '}
next: remove them by hand if nothing needs them, and run again
`,
        calls: seen,
      },
    },
    {
      name: 'reports apt’s message about an impossible transaction',
      script,
      given: (host) => host.program('apt-get', 'echo "E: Unmet dependencies." >&2; exit 100'),
      after: {
        code: 1,
        stderr: `failed: apt cannot remove the packages
expected: a transaction that apt can do
seen: E: Unmet dependencies.
next: fix the packages of the host (apt-get -f install), and run again
`,
        calls: seen,
      },
    },
  ],
};
