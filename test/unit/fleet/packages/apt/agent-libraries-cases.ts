import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { agentLibraries } from '../../../../../src/fleet/packages/apt/names.ts';
import { missingLibraries } from '../../../../../src/fleet/packages/names.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { aptGetCall, aptHost, completing, offered, simulation, updated, updating } from './apt-host.ts';

/** Returns a transaction that contains the script. */
function around(before: string): string {
  return apt.install({ packages: [], remove: [], mayRemove: [], proxy: { noProxy: [] }, before });
}

function script(...installed: readonly string[]): string {
  return around(
    missingLibraries(agentLibraries, Object.fromEntries(installed.map((name) => [name, '1']))).script,
  );
}

export const agentLibrariesSuite: ScriptSuite = {
  name: 'libraries that agents load on the host',
  elsewhere: around('HERE').split('HERE'),
  given: (host) => {
    aptHost(host);
    host.drop('/var/lib/dpkg/state');
    host.program(
      'apt-get',
      'case $* in *" --fix-broken "*) ;; *" -s "*) cat /var/lib/apt/simulation 2>/dev/null ;; *" install "*) set -- $*; while [ "$1" != install ]; do shift; done; echo "apt did $*" ;; esac',
    );
    offered(host, 'libicu72 72.1', 'libicu70 70.1', 'libssl3 3.0', 'libgssapi-krb5-2 1.20', 'zlib1g 1:1.2');
  },
  cases: [
    {
      name: 'are installed by the newest name that a source offers',
      script: script(),
      after: {
        stdout: 'apt did install libicu72 libssl3 libgssapi-krb5-2 zlib1g\n',
        calls: [
          ...updating,
          completing,
          aptGetCall('-s install libicu72 libssl3 libgssapi-krb5-2 zlib1g'),
          aptGetCall('install libicu72 libssl3 libgssapi-krb5-2 zlib1g'),
        ],
        files: updated,
      },
    },
    {
      name: 'stay installed under any known name',
      script: script('libicu70', 'libssl3t64', 'libgssapi-krb5-2'),
      after: {
        stdout: 'apt did install zlib1g\n',
        calls: [...updating, completing, aptGetCall('-s install zlib1g'), aptGetCall('install zlib1g')],
        files: updated,
      },
    },
    {
      name: 'are named in the error if no source offers them',
      script: script('libssl3', 'libgssapi-krb5-2', 'zlib1g'),
      given: (host) => offered(host, 'libssl3 3.0'),
      after: {
        code: 1,
        stderr: `failed: no package source offers ICU for agents on the host
expected: one of libicu78 libicu76 libicu74 libicu72 libicu70
seen: none
next: complete the mirror
`,
        calls: [...updating, completing],
        files: updated,
      },
    },
    {
      name: 'end the script if another package would be removed',
      script: script('libicu70', 'libssl3', 'zlib1g'),
      given: (host) => host.file(simulation, 'Remv krb5-legacy [1]\n'),
      after: {
        code: 1,
        stderr: `failed: apt would also remove other packages
expected: none may be removed
seen: krb5-legacy${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
        calls: [...updating, completing, aptGetCall('-s install libgssapi-krb5-2')],
        files: updated,
      },
    },
  ],
};
