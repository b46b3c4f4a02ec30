import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { consequenceFilters, dnfPrelude } from '../../../../../src/fleet/packages/dnf/prelude.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { bareOf } from '../../steps/enterprise-cases.ts';
import {
  database,
  dnfCall,
  dnfHost,
  has,
  lockList,
  settled,
  stateOf,
  would,
  wouldReplace,
} from './dnf-host.ts';

const system = platformOf(bareOf('rocky', '9.5')) as NonNullable<ReturnType<typeof platformOf>>;
const site = { mirrors: {}, proxy: { http: 'http://proxy:3128', noProxy: [] } };
const mirror = 'http://mirror/my,own/docker';
const docker = dnf.source('docker', system, site);
const mirrored = dnf.source('docker', system, { ...site, mirrors: { docker: mirror } });

const sources = '/etc/yum.repos.d';
const busy = '/var/lib/dnf/rpmdb_lock.pid';
const keyAt = (address: string): string =>
  `curl -fsSL --retry 3 --connect-timeout 20 --max-time 120 -o /tmp/tmp.XXXXXX/key ${address}`;
const dockerKey = keyAt('https://download.docker.com/linux/centos/gpg');
/** What a captive portal returns. */
const page = `<html>log in${' please'.repeat(40)}`;
const key = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n';
const written = (source: typeof docker) => ({
  '/etc/pki': '755 /',
  '/etc/pki/rpm-gpg': '755 /',
  [source.keyFile]: `644 ${key}`,
  [source.file]: `644 ${source.text}`,
  '/run/keys': `644 ${key}`,
});

/** Downloads of curl. */
function downloads(host: ScratchHost, body: string): void {
  host.program('curl', `[ "$http_proxy" = http://proxy:3128 ] || exit 5; [ ! -e "$9" ] || exit 6; ${body}`);
}

const trust = dnf.trust.script("it's a certificate\n", { noProxy: [] });
const unhold = dnf.unhold(['tool', 'absent']);
const remove = dnf.remove(['tool', 'old']);

export const sourceSuite: ScriptSuite = {
  name: 'adding a source for dnf, trusting a site, removing packages',
  elsewhere: [dnfPrelude, consequenceFilters],
  given: (host) => {
    dnfHost(host);
    downloads(host, `printf '%s' '${key}' >"$9"`);
    host.program('update-ca-trust', '');
    has(host, 'tool 5:1.9-1.el9', 'old 0:1.0-1.el9', 'rest 0:1-1');
    host.file(lockList, 'other-0:1-1.*\ntool-5:1.9-1.el9.*\n');
  },
  cases: [
    {
      name: 'fetches the key, imports it into rpm, and writes it and the source, readable by all users',
      script: docker.script,
      run: { umask: '077' },
      after: { calls: [dockerKey], files: written(docker) },
    },
    {
      name: 'disables only other sources of the same repository',
      script: docker.script,
      given: (host) =>
        host
          .file(`${sources}/docker-ce.repo`, 'baseurl=https://download.docker.com/linux/centos/9\n')
          .file(`${sources}/my own.repo`, 'baseurl=https://download.docker.com/linux/rhel/9\n')
          .file(`${sources}/docker-ce.repo.azp-fleet-docker.disabled`, 'old')
          .file(`${sources}/other.repo`, 'baseurl=https://downloadXdocker.com/linux/centos/9\n')
          .file(docker.file, 'baseurl=https://download.docker.com/linux/centos/9\n')
          .file(docker.keyFile, 'old', { mode: 0o600 }),
      after: {
        stdout: `switching off ${sources}/docker-ce.repo: ${docker.file} replaces it
switching off ${sources}/my own.repo: ${docker.file} replaces it
`,
        calls: [dockerKey],
        files: {
          [docker.keyFile]: `644 ${key}`,
          [docker.file]: `644 ${docker.text}`,
          '/run/keys': `644 ${key}`,
          [`${sources}/docker-ce.repo`]: 'gone',
          [`${sources}/docker-ce.repo.azp-fleet-docker.disabled`]:
            '644 baseurl=https://download.docker.com/linux/centos/9\n',
          [`${sources}/my own.repo`]: 'gone',
          [`${sources}/my own.repo.azp-fleet-docker.disabled`]:
            '644 baseurl=https://download.docker.com/linux/rhel/9\n',
        },
      },
    },
    {
      name: "uses a site's mirror, and also disables its other sources",
      script: mirrored.script,
      given: (host) =>
        host
          .file(`${sources}/other.repo`, 'baseurl=https://downloadXdocker.com/linux/centos/9\n')
          .file(`${sources}/mirror.repo`, `baseurl=${mirror}/centos/9/x86_64/stable\n`),
      after: {
        stdout: `switching off ${sources}/mirror.repo: ${mirrored.file} replaces it\n`,
        calls: [keyAt(`${mirror}/centos/gpg`)],
        files: {
          ...written(mirrored),
          [`${sources}/mirror.repo`]: 'gone',
          [`${sources}/mirror.repo.azp-fleet-docker.disabled`]: `644 baseurl=${mirror}/centos/9/x86_64/stable\n`,
        },
      },
    },
    {
      name: 'changes nothing if the key cannot be fetched',
      script: docker.script,
      given: (host) => host.program('curl', 'echo "curl: (22) 404" >&2; exit 22'),
      after: {
        code: 1,
        stderr: `failed: https://download.docker.com/linux/centos/gpg cannot be downloaded
expected: the key of the package source
seen: curl: (22) 404
next: check the network, the proxy and the mirrors in the inventory
`,
        calls: [dockerKey],
      },
    },
    {
      name: 'fails at a page instead of the key',
      script: docker.script,
      given: (host) => downloads(host, `printf '%s' '${page}' >"$9"`),
      after: {
        code: 1,
        stderr: `failed: https://download.docker.com/linux/centos/gpg is not the key of a package source
expected: a PGP public key
seen: ${page.slice(0, 200)}
next: check the mirror
`,
        calls: [dockerKey],
      },
    },
    {
      name: 'adds no source if rpm rejects the key',
      script: mirrored.script,
      given: (host) =>
        host.program('rpm', 'echo "error: key 1 import failed." >&2; exit 1', { silent: true }),
      after: {
        code: 1,
        stderr: `error: key 1 import failed.
failed: rpm rejected the key of ${mirror}/centos/9/x86_64/stable
expected: a key that the host accepts
seen: the messages above
next: check update-crypto-policies --show on the host: newer systems reject old keys
`,
        calls: [keyAt(`${mirror}/centos/gpg`)],
        files: { '/etc/pki': '755 /', '/etc/pki/rpm-gpg': '755 /', [docker.keyFile]: `644 ${key}` },
      },
    },
    {
      name: 'imports the key into rpm once the lock is free, also if another process locks it again',
      script: docker.script,
      given: (host) => {
        host.file(busy, '812').file('/proc/812/comm', 'dnf\n').program('sleep', `rm ${busy}`);
        host.program(
          'rpm',
          `if [ -e /run/tried ]; then exit 0; fi
: >/run/tried
printf 812 >${busy}
echo "error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)" >&2
exit 1`,
        );
      },
      after: {
        stdout: `waiting, because dnf (pid 812) holds ${busy} (0 s)\n`.repeat(2),
        stderr:
          "error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)\n",
        calls: [
          dockerKey,
          'sleep 2',
          `rpm --import ${docker.keyFile}`,
          'sleep 2',
          `rpm --import ${docker.keyFile}`,
        ],
        files: {
          '/etc/pki': '755 /',
          '/etc/pki/rpm-gpg': '755 /',
          [docker.keyFile]: `644 ${key}`,
          [docker.file]: `644 ${docker.text}`,
          '/run/tried': '644 ',
          [busy]: 'gone',
        },
      },
    },
    {
      name: "writes a site's authority atomically, and trusts it",
      script: trust,
      given: (host) =>
        host
          .file(`${dnf.trust.file}.new`, 'cut off, and longer than the new one')
          .file(dnf.trust.file, 'old'),
      after: {
        calls: ['update-ca-trust extract'],
        files: { [dnf.trust.file]: "644 it's a certificate\n", [`${dnf.trust.file}.new`]: 'gone' },
      },
    },
    {
      name: "trusts a site's authority, where the system lacks the folder",
      script: trust,
      after: {
        calls: ['update-ca-trust extract'],
        files: {
          '/etc/pki': '755 /',
          '/etc/pki/ca-trust': '755 /',
          '/etc/pki/ca-trust/source': '755 /',
          '/etc/pki/ca-trust/source/anchors': '755 /',
          [dnf.trust.file]: "644 it's a certificate\n",
        },
      },
    },
    {
      name: "removes a site's authority",
      script: dnf.trust.withdraw,
      given: (host) => host.file(`${dnf.trust.file}.new`).file(dnf.trust.file, 'old'),
      after: {
        calls: ['update-ca-trust extract'],
        files: { [dnf.trust.file]: 'gone', [`${dnf.trust.file}.new`]: 'gone' },
      },
    },
    {
      name: 'removes only these packages, locked or not',
      script: remove,
      given: (host) => would(host, 'Removing:', ' old x86_64 1.0-1 @os 4', ' tool i686 1.9-1 @os 4'),
      after: {
        stdout: 'dnf did remove tool old\n',
        calls: [
          settled,
          dnfCall("'--disablerepo=*' --assumeno remove tool old"),
          dnfCall("'--disablerepo=*' -y remove tool old"),
        ],
        files: { [database]: `644 ${stateOf('rest 0:1-1')}`, [lockList]: '644 other-0:1-1.*\n' },
      },
    },
    {
      name: 'reports dnf’s message about an impossible removal, and removes no lock',
      script: remove,
      given: (host) =>
        host.file('/run/answer', 'Error: The operation would result in removing protected packages: tool\n'),
      after: {
        code: 1,
        stderr: `failed: dnf cannot remove the packages
expected: a transaction that dnf can do
seen: The operation would result in removing protected packages: tool${' '}
next: fix the packages of the host (dnf check), and run again
`,
        calls: [settled, dnfCall("'--disablerepo=*' --assumeno remove tool old")],
      },
    },
    {
      name: 'removes nothing if other packages would be removed',
      script: remove,
      given: (host) => wouldReplace(host, 'rest.noarch', 'old.x86_64', 'other.i686'),
      after: {
        code: 1,
        stderr: `failed: dnf would also remove other packages
expected: only tool, old may be removed
seen: rest other:i686${' '}
next: remove them by hand if nothing needs them, and run again
`,
        calls: [settled, dnfCall("'--disablerepo=*' --assumeno remove tool old")],
      },
    },
    {
      name: 'removes locks; the owner’s comments and excludes stay',
      script: unhold,
      given: (host) =>
        host.file(
          lockList,
          '# by ann, for the demo\nother-0:1-1.*\n\n!tool-5:1.8-1.el9.*\n  tool\ntool-5:1.9-1.el9.*\ntool*\ntoolbox-0:1-1.*\n',
        ),
      after: {
        files: {
          [lockList]:
            '644 # by ann, for the demo\nother-0:1-1.*\n\n!tool-5:1.8-1.el9.*\ntool*\ntoolbox-0:1-1.*\n',
        },
      },
    },
    {
      name: 'creates no lock list if there is none',
      script: unhold,
      given: (host) => host.drop(lockList),
      after: {},
    },
    {
      name: 'leaves the list unchanged if none of them is locked',
      script: unhold,
      given: (host) => host.file(lockList, 'other-0:1-1.*\n'),
      after: {},
    },
    {
      name: 'waits for the process that may change locks',
      script: unhold,
      given: (host) => host.file(busy, '812').file('/proc/812/comm', 'dnf\n').program('sleep', `rm ${busy}`),
      after: {
        stdout: `waiting, because dnf (pid 812) holds ${busy} (0 s)\n`,
        calls: ['sleep 2'],
        files: { [lockList]: '644 other-0:1-1.*\n', [busy]: 'gone' },
      },
    },
  ],
};
