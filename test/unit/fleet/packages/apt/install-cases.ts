import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import {
  aptCache,
  aptGetCall,
  aptHost,
  database,
  has,
  offered,
  simulation,
  unheld,
  updated,
  updating,
  completing,
} from './apt-host.ts';
import { boundCases } from './bound-cases.ts';
import { branchCases } from './branch-cases.ts';
import {
  installCalls,
  engine,
  install,
  simulated,
  unhold,
  success,
  environment,
} from './engine-transaction.ts';
import { listsCases } from './lists-cases.ts';
import { ownCases } from './own-cases.ts';
import { trialCases } from './trial-cases.ts';

export const installSuite: ScriptSuite = {
  name: 'installing packages with apt',
  given: (host) => {
    aptHost(host);
    has(host, 'tool 5:1.9-1', 'old 1.0');
    offered(
      host,
      'tool 5:2.1-2',
      'tool 5:2.0-7',
      'tool 5:2.0,1-1',
      'tool 5:2.0,1-0',
      'tool 5:12.0,1-1',
      'tool2 5:2.0,1-9',
      'extra 9.9',
    );
  },
  cases: [
    {
      name: 'installs exactly the requested version, ignores its epoch, and holds it',
      script: engine,
      after: success,
    },
    {
      name: 'starts no apt-mark to unhold what is not held',
      script: engine,
      given: (host) => host.file(unheld, 'tool\nold\n'),
      after: { ...success, calls: installCalls.filter((call) => call !== unhold) },
    },
    {
      name: 'removes announced packages of any architecture',
      script: engine,
      given: (host) =>
        host.file(
          simulation,
          'Remv old [1.0]\nPurg old-plugin:i386 [1.0]\nInst tool (2.0-1)\nRemvx not [1]\n',
        ),
      after: success,
    },
    {
      name: 'stops if another package would be removed, and names it',
      script: engine,
      given: (host) =>
        host.file(simulation, 'Remv kubeadm [1.31]\nRemv old [1.0]\nPurg kubelet:i386 [1.31]\n'),
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: apt would also remove other packages
expected: only old, old-* may be removed
seen: kubeadm kubelet:i386${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
        calls: [...updating, unhold, completing, simulated, 'apt-mark hold tool'],
        files: updated,
      },
    },
    {
      name: 'names the offered versions if the requested one is missing',
      script: engine,
      given: (host) => {
        offered(host, ...['6', '5', '4', '3', '2', '1'].map((each) => `tool 5:1.${each}-1`));
        host.program('apt-cache', aptCache);
      },
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: no package source offers tool 2.0,1-
expected: a version that begins with 2.0,1-
seen: 5:1.6-1 5:1.5-1 5:1.4-1 5:1.3-1 5:1.2-1${' '}
next: correct the version in the inventory, or complete the mirror
`,
        calls: [...updating, unhold, completing, 'apt-cache madison tool', 'apt-mark hold tool'],
        files: updated,
      },
    },
    {
      name: 'first completes packages with unmet dependencies at the versions that apt chooses',
      script: engine,
      given: (host) =>
        host.program(
          'apt-get',
          `case $* in
  *' --fix-broken '*) echo 'Inst libtool [1.0] (2.0-1 Docker:x [amd64])'; echo 'Inst helper (3.0 Docker:x [amd64]) []'; echo 'Conf libtool (2.0-1 Docker:x [amd64])'; echo 'a word' >&2 ;;
  *' -s '*) ;;
  *' install '*) printf 'tool 5:2.0,1-1 installed\\nextra 9.9 installed\\n' >${database} ;;
esac`,
        ),
      after: {
        ...success,
        stdout: `${environment}after\n`,
        calls: [
          ...installCalls.slice(0, 4),
          aptGetCall('-s install --allow-downgrades libtool=2.0-1 helper=3.0'),
          aptGetCall('install --allow-downgrades libtool=2.0-1 helper=3.0'),
          ...installCalls.slice(4),
        ],
      },
    },
    {
      name: 'completes nothing for which another package would be removed',
      script: engine,
      given: (host) =>
        host.program(
          'apt-get',
          `case $* in
  *' --fix-broken '*) echo 'Inst libtool [1.0] (2.0-1 Docker:x [amd64])' ;;
  *' -s '*) echo 'Remv theirs [1.0]' ;;
esac`,
        ),
      after: {
        code: 1,
        stderr: `failed: apt would also remove other packages
expected: only old, old-* may be removed
seen: theirs${' '}
next: remove them by hand if nothing needs them, or remove this host from the inventory, and run again
`,
        calls: [
          ...installCalls.slice(0, 4),
          aptGetCall('-s install --allow-downgrades libtool=2.0-1'),
          'apt-mark hold tool',
        ],
        files: updated,
      },
    },
    {
      name: 'restores the holds if the installation fails',
      script: engine,
      given: (host) =>
        host.program(
          'apt-get',
          `case $* in *' -s '*) ;; *' install '*) echo "E: broken" >&2; exit 100 ;; esac`,
        ),
      after: {
        code: 100,
        stdout: environment,
        stderr: 'E: broken\n',
        calls: [...installCalls.slice(0, -1), aptGetCall(`--print-uris ${install}`), 'apt-mark hold tool'],
        files: updated,
      },
    },
    {
      name: 'fails if apt installed another version',
      script: engine,
      given: (host) => host.program('apt-get', ''),
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: tool has the wrong version after its installation
expected: 2.0,1-
seen: 5:1.9-1
next: check /etc/apt/preferences.d for a pin that prefers another version
`,
        calls: [...installCalls.slice(0, -1), 'apt-mark hold tool'],
        files: updated,
      },
    },
    {
      name: 'fails if apt left it half installed, and holds nothing',
      script: engine,
      given: (host) =>
        host.program(
          'apt-get',
          `case $* in *' -s '*) ;; *' install '*) echo "tool 5:2.0,1-1 half-configured" >${database} ;; esac`,
        ),
      after: {
        code: 1,
        stdout: environment,
        stderr: `failed: tool has the wrong version after its installation
expected: 2.0,1-
seen: \nnext: check /etc/apt/preferences.d for a pin that prefers another version
`,
        calls: installCalls.slice(0, -1),
        files: { ...updated, [database]: '644 tool 5:2.0,1-1 half-configured\n' },
      },
    },
    ...boundCases,
    ...branchCases,
    ...listsCases,
    ...ownCases,
    ...trialCases,
  ],
};
