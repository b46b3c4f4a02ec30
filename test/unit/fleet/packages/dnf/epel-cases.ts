import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { withDkms } from '../../../../../src/fleet/packages/dnf/repositories.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { deadMirror, unavailable } from './dnf-output.ts';
import { database, dnfCall, offered, query, settled, stateOf, updated, updating } from './dnf-host.ts';

/** Returns a transaction that contains the script. */
export function around(before: string): string {
  const transaction = { packages: [], remove: [], mayRemove: [], proxy: { noProxy: [] } };
  return dnf.install({ ...transaction, before, after: 'echo built' });
}

const rocky = around(withDkms({ release: 'epel-release', major: '9' }, { mirrors: {} }));
const mirror = 'http://mirror/my,own/epel';
const mirrored = around(withDkms({ release: 'epel-release', major: '9' }, { mirrors: { epel: mirror } }));
/** Replaces EPEL's key, which is checked by its digest. */
const epelKey = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n';
const repository = `# Written by azp-fleet.
[azp-fleet-epel]
name=azp-fleet-epel
baseurl=${mirror}/9/Everything/$basearch
enabled=1
gpgcheck=1
repo_gpgcheck=0
gpgkey=file:///etc/pki/rpm-gpg/azp-fleet-epel
`;
const [repositoryFile, keyFile] = ['/etc/yum.repos.d/azp-fleet-epel.repo', '/etc/pki/rpm-gpg/azp-fleet-epel'];
const key = `-o /tmp/tmp.XXXXXX/key ${mirror}/RPM-GPG-KEY-EPEL-9`;
const fetches = `curl -fsSL --retry 3 --connect-timeout 20 --max-time 120 ${key}`;
const one = dnfCall('--refresh makecache --repo=azp-fleet-epel');
/** Adds curl and sha256sum that return the key and the digest. */
function keyed(host: ScratchHost, digest: string): ScratchHost {
  return host
    .program('curl', `printf '%s' '${epelKey}' >"$9"`)
    .program('sha256sum', `cat >/dev/null; echo '${digest}  -'`, { silent: true });
}
const digest = 'fcf0eab4f05a1c0de6363ac4b707600a27a9d774e9b491059e59e6921b255a84';
const noDkms = (seen: string, next: string) => `failed: no package source offers dkms, which builds the driver
expected: dkms, which EPEL has
seen: ${seen}
next: ${next}, or put dkms into a package source of the host, and run again
`;
const setMirror = 'set mirrors.epel in the inventory to a mirror of https://dl.fedoraproject.org/pub/epel';
const url = 'https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm';

/** Sources of DKMS, which is in no base repository. */
export const epelCases: readonly ScriptCase[] = [
  {
    name: 'are unchanged if DKMS is offered',
    script: rocky,
    given: (host) => offered(host, 'dkms 0:3.2.2-1', 'dkms 0:3.2.1-1'),
    after: { stdout: 'built\n', calls: [...updating, query('dkms')], files: updated },
  },
  {
    name: 'are unchanged if DKMS is installed',
    script: rocky,
    given: (host) => host.file(database, 'dkms 0 3.2.2 1 noarch\n'),
    after: { stdout: 'built\n', calls: updating, files: updated },
  },
  {
    name: "are EPEL, if the system's sources contain epel-release",
    script: rocky,
    given: (host) => host.file('/run/later', 'dkms 0:3.2.2-1\n'),
    after: {
      stdout: 'dnf did install epel-release\nbuilt\n',
      calls: [
        ...updating,
        query('dkms'),
        query('epel-release'),
        dnfCall('-y install epel-release'),
        settled,
        updating[1] ?? '',
        query('dkms'),
      ],
      files: {
        ...updated,
        '/run/later': 'gone',
        '/var/lib/dnf/offers': '644 dkms 0:3.2.2-1\n',
        [database]: `644 ${stateOf('epel-release 0:9-10')}`,
      },
    },
  },
  {
    name: 'are EPEL from the Fedora project',
    script: rocky,
    given: (host) => {
      offered(host);
      host.file('/run/later', 'dkms 0:3.2.2-1\n');
    },
    after: {
      stdout: `dnf did install ${url}\nbuilt\n`,
      calls: [
        ...updating,
        query('dkms'),
        query('epel-release'),
        dnfCall(`-y install ${url}`),
        settled,
        updating[1] ?? '',
        query('dkms'),
      ],
      files: {
        ...updated,
        '/run/later': 'gone',
        '/var/lib/dnf/offers': '644 dkms 0:3.2.2-1\n',
        [database]: `644 ${stateOf('epel-release 0:9-10')}`,
      },
    },
  },
  {
    name: 'end the script if EPEL, which was fetched the second time, has no DKMS',
    script: rocky,
    given: (host) => host.file('/run/unfetched', unavailable).program('sleep', 'rm /run/unfetched'),
    after: {
      code: 1,
      stdout: `${unavailable}not all packages could be fetched, trying again in 10 s
dnf did install epel-release
`,
      stderr: noDkms('none does', setMirror),
      calls: [
        ...updating,
        query('dkms'),
        query('epel-release'),
        dnfCall('-y install epel-release'),
        'sleep 10',
        dnfCall('-y install epel-release'),
        settled,
        updating[1] ?? '',
        query('dkms'),
      ],
      files: {
        ...updated,
        [database]: `644 ${stateOf('epel-release 0:9-10')}`,
        '/run/unfetched': 'gone',
      },
    },
  },
  {
    name: "are a site's mirror of EPEL, with EPEL's key",
    script: mirrored,
    given: (host) => keyed(host, digest).file('/run/later', 'dkms 0:3.2.2-1\n'),
    run: { umask: '077' },
    after: {
      stdout: 'built\n',
      calls: [...updating, query('dkms'), fetches, settled, one, query('dkms')],
      files: {
        '/run/azp-fleet': '755 /',
        '/run/azp-fleet/package-lists': '755 ',
        '/etc/pki': '755 /',
        '/etc/pki/rpm-gpg': '755 /',
        [keyFile]: `644 ${epelKey}`,
        '/run/keys': `644 ${epelKey}`,
        [repositoryFile]: `644 ${repository}`,
        '/run/later': 'gone',
        '/var/lib/dnf/offers': '644 dkms 0:3.2.2-1\n',
      },
    },
  },
  {
    name: 'end the script if the mirror has no DKMS, where lists were read the second time',
    script: mirrored,
    given: (host) => keyed(host, digest).file('/run/deaf', deadMirror).program('sleep', 'rm /run/deaf'),
    after: {
      code: 1,
      stdout: 'not all package lists could be read, trying again in 3 s\n',
      stderr: noDkms('none does', 'check that the EPEL mirror in the inventory (mirrors.epel) answers'),
      calls: [
        ...updating,
        'sleep 3',
        ...updating.slice(1),
        query('dkms'),
        fetches,
        settled,
        one,
        query('dkms'),
      ],
      files: {
        ...updated,
        '/run/deaf': 'gone',
        '/etc/pki': '755 /',
        '/etc/pki/rpm-gpg': '755 /',
        [keyFile]: `644 ${epelKey}`,
        '/run/keys': `644 ${epelKey}`,
        [repositoryFile]: `644 ${repository}`,
      },
    },
  },
  {
    name: "are not taken from a mirror with another key than EPEL's",
    script: mirrored,
    given: (host) => keyed(host, '0123'),
    after: {
      code: 1,
      stderr: `failed: ${mirror}/RPM-GPG-KEY-EPEL-9 is another key than that of azp-fleet-epel
expected: sha256 ${digest}
seen: 0123
next: check the mirror
`,
      calls: [...updating, query('dkms'), fetches],
      files: updated,
    },
  },
  {
    name: 'are missing on Amazon Linux',
    script: around(withDkms(undefined, { mirrors: {} })),
    after: {
      code: 1,
      stderr: `failed: no package source offers dkms, which builds the driver
expected: dkms
seen: none
next: put dkms into a package source of the host, and run again
`,
      calls: [...updating, query('dkms')],
      files: updated,
    },
  },
];
