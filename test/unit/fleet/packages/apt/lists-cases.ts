import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import {
  aptCache,
  aptGet,
  aptGetCall,
  database,
  locked,
  lockedDuring,
  mounted,
  offers,
  unpackedAgain,
  updated,
  updating,
} from './apt-host.ts';
import {
  installCalls,
  engine,
  install,
  only,
  result,
  stdout,
  success,
  environment,
} from './engine-transaction.ts';

const source = '/etc/apt/sources.list.d/azp-fleet-docker.sources';
const installs = `*' install '*) printf 'tool 5:2.0,1-1 installed\\nextra 9.9 installed\\n' >${database} ;;`;
/** Makes apt-get update fail this many times, with this output. */
function flaky(host: ScratchHost, times: number, said = ''): void {
  host.program(
    'apt-get',
    `case $* in
  *' update '*) echo x >>/run/.tried; [ "$(wc -l </run/.tried)" -gt ${times} ] || { cat >&2 <<'END'; exit 100; } ;;
${said}
END
  *' -s '*) ;;
  ${installs}
esac`,
  );
}
/** Makes downloads fail this many times, with this output. */
function slow(host: ScratchHost, times: number, said: string): void {
  host.program(
    'apt-get',
    `case $* in
  *' update '*) exit ;;
  *' -s '*) exit ;;
  *' --print-uris '*) echo "'http://mirror/tool.deb' tool.deb 1 SHA256:0"; exit ;;
esac
echo x >>/run/.tried
[ "$(wc -l </run/.tried)" -gt ${times} ] || { echo '${said}' >&2; exit 100; }
case $* in
  *' --download-only '*) ;;
  ${installs}
esac`,
  );
}
const again = 'not all package lists could be read, trying again in 10 s\n';
const fetchAgain = 'not all packages could be fetched, trying again in 10 s\n';
const update = updating[1] ?? '';
const bad = {
  docker: 'E: Failed to fetch http://mirror/docker/dists/bookworm/InRelease  Could not connect to mirror:80',
  key: 'W: Failed to fetch http://mirror/docker/dists/bookworm/Release.gpg  Could not connect to mirror:80',
  ubuntu: "Error: The repository 'http://archive/ubuntu noble Release' does not have a Release file.",
} as const;
const twice = [updating[0] ?? '', update, 'sleep 10', update];
const fetched = aptGetCall(`--print-uris ${install}`);
const downloaded = aptGetCall(`--download-only ${install}`);
const refused = (what: string, seen: string) => `failed: ${what} cannot be read
expected: an answer within two attempts
seen: ${seen}
next: check the network, the proxy and the mirrors in the inventory, and run again
`;
const held = (holder: string) => `waiting, because ${holder} (0 s)\n`;

const site = '/etc/apt/sources.list.d/site.sources';
/** Asks for offers, and adds a source, before the request. */
const adding = apt.install({
  vendor: 'docker',
  packages: [{ name: 'tool', version: { release: '2.0,1' } }],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
  before: `know tool; source_added site.sources contrib; update ${site} optional; offered tool`,
});

/** Before an installation: package lists, a first boot, an interrupted dpkg, and locks of other processes. */
export const listsCases: readonly ScriptCase[] = [
  {
    name: 'tries again if an archive does not answer',
    script: engine,
    given: (host) => flaky(host, 1, bad.docker),
    after: {
      stdout: `${again}${environment}after\n`,
      calls: [...twice, ...installCalls.slice(2)],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'continues without an archive that fails twice, and names it in one line',
    script: engine,
    given: (host) => {
      host.file(source, 'URIs: http://mirror/docker\n');
      flaky(host, 9, `Hit:1 http://mirror/docker\nE: Some index files failed to download.\n${bad.ubuntu}`);
    },
    after: {
      stdout: `${again}continuing with the package lists that could be read: http://archive/ubuntu cannot be read: the repository does not have a Release file.\n${environment}after\n`,
      calls: [...twice, ...installCalls.slice(2)],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'names the first of several archives that fail',
    script: engine,
    given: (host) => flaky(host, 9, `${bad.ubuntu}\n${bad.docker}`),
    after: {
      stdout: `${again}continuing with the package lists that could be read: http://archive/ubuntu cannot be read: the repository does not have a Release file.\n${environment}after\n`,
      calls: [...twice, ...installCalls.slice(2)],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'continues without an optional source that fails twice, and asks again for what the lists now offer',
    script: adding,
    given: (host) =>
      host
        .program('apt-cache', aptCache)
        .file(site, 'URIs: http://site\n')
        .program(
          'apt-get',
          `case $* in *site.sources*) echo 'tool 5:2.0,1-3' >${offers}; echo 'E: Failed to fetch http://site/InRelease  404' >&2; exit 100 ;; esac
${aptGet}`,
        ),
    after: {
      stdout: `added site.sources:contrib
${again}continuing with the package lists that could be read: http://site/InRelease cannot be read: 404
5:2.0,1-3
apt did install tool=5:2.0,1-3
`,
      calls: [
        ...updating,
        'apt-mark unhold tool',
        'apt-cache madison tool',
        'dpkg --audit',
        `${update} ${only('site')}`.replace('azp-fleet-', ''),
        'sleep 10',
        `${update} ${only('site')}`.replace('azp-fleet-', ''),
        'apt-cache madison tool',
        'apt-cache madison tool',
        aptGetCall('-s install --allow-downgrades tool=5:2.0,1-3'),
        aptGetCall('install --allow-downgrades tool=5:2.0,1-3'),
        'apt-mark hold tool',
      ],
      files: {
        ...updated,
        [offers]: '644 tool 5:2.0,1-3\n',
        [database]: '644 old 1.0 installed\ntool 5:2.0,1-3 installed\n',
      },
    },
  },
  {
    name: 'ends if its source fails twice, with the URL',
    script: engine,
    given: (host) => {
      host.file(source, 'URIs: http://mirror/docker\n');
      flaky(
        host,
        9,
        `W: a word\n${bad.ubuntu}\n${bad.docker}\n${bad.key}\nE: Some index files failed to download.`,
      );
    },
    after: {
      code: 1,
      stdout: again,
      stderr: refused('http://mirror/docker/dists/bookworm/InRelease', 'Could not connect to mirror:80'),
      calls: twice,
    },
  },
  {
    name: 'continues with the existing lists if apt fails with an unknown message, and shows it',
    script: engine,
    given: (host) => flaky(host, 9, 'E: The list of sources could not be read.'),
    after: {
      stdout: `${again}continuing with the package lists that could be read: E: The list of sources could not be read.\n${environment}after\n`,
      calls: [...twice, ...installCalls.slice(2)],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'fetches packages a second time',
    script: engine,
    given: (host) => slow(host, 1, bad.docker),
    after: {
      stdout: `${environment}${fetchAgain}after\n`,
      stderr: `${bad.docker}\n`,
      calls: [
        ...installCalls.slice(0, 6),
        fetched,
        'sleep 10',
        downloaded,
        ...installCalls.slice(5),
      ] as string[],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'ends if a package cannot be fetched twice, with the URL',
    script: engine,
    given: (host) =>
      slow(host, 9, 'E: Failed to fetch http://mirror/tool.deb  404  Not Found [IP: 10.0.0.1 80]'),
    after: {
      code: 1,
      stdout: `${environment}${fetchAgain}`,
      stderr: `E: Failed to fetch http://mirror/tool.deb  404  Not Found [IP: 10.0.0.1 80]\n${refused('http://mirror/tool.deb', '404  Not Found [IP: 10.0.0.1 80]')}`,
      calls: [...installCalls.slice(0, 6), fetched, 'sleep 10', downloaded, 'apt-mark hold tool'],
      files: updated,
    },
  },
  {
    name: 'ends with the words and the exit code of apt if it fails again with what it has fetched',
    script: engine,
    given: (host) =>
      host.program(
        'apt-get',
        `case $* in
  *' -s '*) ;;
  *' --print-uris '*) echo "'http://mirror/tool.deb' tool.deb 1 SHA256:0" ;;
  *' --download-only '*) ;;
  *' install '*) echo 'E: no' >&2; exit 100 ;;
esac`,
      ),
    after: {
      code: 100,
      stdout: `${environment}${fetchAgain}`,
      stderr: 'E: no\nE: no\n',
      calls: [
        ...installCalls.slice(0, 6),
        fetched,
        'sleep 10',
        downloaded,
        aptGetCall(install),
        'apt-mark hold tool',
      ],
      files: updated,
    },
  },
  {
    name: 'reads only its source again within half an hour',
    script: engine,
    given: (host) =>
      host
        .file(source)
        .file('/run/azp-fleet/package-lists')
        .age('/run/azp-fleet/package-lists', 28 * 60),
    after: {
      stdout,
      calls: ['dpkg --audit', `${updating[1]} ${only('docker')}`, ...installCalls.slice(2)],
      files: result,
    },
  },
  {
    name: 'reads all lists after that',
    script: engine,
    given: (host) =>
      host
        .file(source)
        .file('/run/azp-fleet/package-lists')
        .age('/run/azp-fleet/package-lists', 31 * 60),
    after: { stdout, calls: installCalls, files: { ...result, '/run/azp-fleet/package-lists': '755 ' } },
  },
  {
    name: 'reads all lists if its source is missing',
    script: engine,
    given: (host) => host.file('/run/azp-fleet/package-lists'),
    after: { stdout, calls: installCalls, files: { ...result, '/run/azp-fleet/package-lists': '755 ' } },
  },
  {
    name: 'waits for the end of a first boot, with a limit',
    script: engine,
    given: (host) =>
      host
        .program('/usr/bin/cloud-init', 'echo "status: done"; exit 2')
        .program('cloud-init', 'echo "status: done"; exit 2')
        .program('timeout', 'shift; exec "$@"'),
    after: {
      ...success,
      stdout: `waiting for cloud-init to end\n${stdout}`,
      calls: ['timeout 1200 cloud-init status --wait', 'cloud-init status --wait', ...installCalls],
    },
  },
  {
    name: 'says that it waits for a first boot before it waits',
    script: engine,
    // The script is killed while it waits.
    given: (host) => host.program('/usr/bin/cloud-init', '').program('timeout', 'kill -KILL "$PPID"'),
    after: {
      code: 128,
      stdout: 'waiting for cloud-init to end\n',
      calls: ['timeout 1200 cloud-init status --wait'],
    },
  },
  {
    name: 'does not wait for a first boot that has ended',
    script: engine,
    given: (host) => host.program('/usr/bin/cloud-init', '').file('/run/cloud-init/result.json'),
    after: success,
  },
  {
    name: 'first finishes an interrupted dpkg run: packages',
    script: engine,
    given: (host) =>
      host.program('dpkg', '[ "$1" != --audit ] || echo "The following packages are only half configured"'),
    after: {
      ...success,
      calls: [
        updating[0],
        'dpkg --configure -a --force-confdef --force-confold',
        ...installCalls.slice(1),
      ] as string[],
    },
  },
  {
    name: 'first finishes an interrupted dpkg run: updates of its database',
    script: engine,
    given: (host) => {
      host.file('/var/lib/dpkg/updates/0001').program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/dpkg/lock', 812);
    },
    after: {
      ...success,
      stdout: `${held('unknown (pid 812) holds /var/lib/dpkg/lock')}${stdout}`,
      files: { '/proc/locks': '644 ', ...success.files },
      calls: [
        updating[0],
        'sleep 2',
        'dpkg --configure -a --force-confdef --force-confold',
        ...installCalls.slice(1),
      ] as string[],
    },
  },
  {
    name: 'continues if an interrupted dpkg run cannot be finished: apt unpacks again',
    script: engine,
    given: (host) => host.file('/var/lib/dpkg/updates/0001').program('dpkg', '[ "$1" = --audit ]'),
    after: {
      ...success,
      stdout: `continuing: apt unpacks again what dpkg cannot configure\n${stdout}`,
      calls: [
        updating[0],
        'dpkg --configure -a --force-confdef --force-confold',
        ...installCalls.slice(1),
      ] as string[],
    },
  },
  {
    name: 'has apt unpack again what dpkg was unpacking when it was killed, before anything depends on it',
    script: engine,
    given: (host) => {
      host
        .program('dpkg', '[ "$1" != --audit ] || echo "The following packages are in a mess"')
        .file(database, 'tool 5:1.9-1 installed\nold 1.0 installed\nlib 2.0 half-installed\n');
      lockedDuring(host, 'update', '/var/lib/dpkg/lock', 812);
    },
    after: {
      stdout: `${held('unknown (pid 812) holds /var/lib/dpkg/lock')}apt did install lib=2.0\n${stdout}`,
      files: {
        ...updated,
        [database]: '644 lib 2.0 installed\ntool 5:2.0,1-1 installed\nextra 9.9 installed\n',
      },
      calls: [
        updating[0],
        'dpkg --configure -a --force-confdef --force-confold',
        updating[1],
        'sleep 2',
        unpackedAgain('lib=2.0'),
        ...installCalls.slice(2),
      ] as string[],
    },
  },
  {
    name: 'continues if apt cannot unpack it again: the request may name another version',
    script: engine,
    given: (host) =>
      host
        .program('dpkg', '[ "$1" != --audit ] || echo "The following packages are in a mess"')
        .file(database, 'tool 5:1.9-1 half-installed\nold 1.0 installed\n')
        .program('apt-get', `case $* in *' --reinstall '*) exit 100 ;; esac\n${aptGet}`),
    after: {
      ...success,
      stdout: `continuing: apt cannot unpack again tool=5:1.9-1\n${stdout}`,
      calls: [
        updating[0],
        'dpkg --configure -a --force-confdef --force-confold',
        updating[1],
        unpackedAgain('tool=5:1.9-1'),
        ...installCalls.slice(2),
      ] as string[],
    },
  },
  {
    name: 'waits for the process that locks the database, and reports it',
    script: engine,
    given: (host) => {
      host.file('/proc/812/comm', 'unattended upgr\n').program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/dpkg/lock-frontend', 812);
      mounted(host, '254:0');
    },
    after: {
      ...success,
      stdout: `${held('unattended upgr (pid 812) holds /var/lib/dpkg/lock-frontend')}${stdout}`,
      calls: [updating[0], 'sleep 2', ...installCalls.slice(1)] as string[],
      files: { '/proc/locks': '644 ', ...success.files },
    },
  },
  {
    name: 'does not wait for a lock of another file system, whose file has the same number',
    script: engine,
    given: (host) => {
      host.program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/dpkg/lock-frontend', 812);
      mounted(host, '8:1');
    },
    after: success,
  },
  {
    name: 'waits for a process that reads package lists, also if /proc does not show it',
    script: engine,
    given: (host) => {
      host.file('/var/lib/dpkg/lock').program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/apt/lists/lock', 813);
    },
    after: {
      ...success,
      stdout: `${held('unknown (pid 813) holds /var/lib/apt/lists/lock')}${stdout}`,
      calls: [updating[0], 'sleep 2', ...installCalls.slice(1)] as string[],
      files: { '/proc/locks': '644 ', ...success.files },
    },
  },
  {
    name: 'fails at a lock after half an hour',
    script: engine,
    given: (host) => {
      host.file('/proc/812/comm', 'apt-get\n');
      locked(host, '/var/lib/dpkg/lock', 812);
    },
    after: {
      code: 1,
      stdout: Array.from(
        { length: 61 },
        (_, at) => `waiting, because apt-get (pid 812) holds /var/lib/dpkg/lock (${30 * at} s)\n`,
      ).join(''),
      stderr: `failed: the package database stays locked
expected: a free lock within 30 minutes
seen: apt-get (pid 812) holds /var/lib/dpkg/lock
next: wait until that process exits, or stop it, and run again
`,
      calls: ['dpkg --audit', ...Array.from({ length: 900 }, () => 'sleep 2')],
    },
  },
];
