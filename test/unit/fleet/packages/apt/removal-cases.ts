import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { aptGetCall, aptHost, simulation, unpackedAgain } from './apt-host.ts';

const script = apt.remove(['drv', 'drv-pin', 'libdrv1']);
const seen = ['dpkg --audit', aptGetCall('-s --allow-change-held-packages remove drv drv-pin libdrv1')];
const done = [
  'apt-mark unhold drv drv-pin libdrv1',
  aptGetCall('purge drv-pin'),
  aptGetCall('remove drv libdrv1'),
];
const purged = '/var/lib/dpkg/purged';
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
    // No source offers it: apt does not know a purged package.
    host.program(
      'apt-get',
      `case " $* " in *' -s '*) cat ${simulation}; exit ;; esac
case " $* " in *' purge drv-pin '*) touch ${purged} ;; *drv-pin*) [ ! -e ${purged} ] || { echo 'E: Unable to locate package drv-pin' >&2; exit 100; } ;; esac`,
    );
    host
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
      name: 'removes no package and no hold if another package would be removed, and names it',
      script,
      given: (host) => host.file(simulation, 'Remv drv [1.0]\nRemv cuda-demo [12.4]\n'),
      after: {
        code: 1,
        stderr: `failed: apt would also remove other packages
expected: only drv, drv-pin, libdrv1 may be removed
seen: cuda-demo${' '}
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
