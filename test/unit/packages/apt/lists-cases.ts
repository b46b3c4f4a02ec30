import type { ScriptCase } from '../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../support/scratch/host.ts';
import { database, locked, updated, updating } from './apt-host.ts';
import { bought, engine, only, result, stdout, well, words } from './engine-transaction.ts';

const source = '/etc/apt/sources.list.d/azp-fleet-docker.sources';
/** apt-get update fails so many times. */
function flaky(host: ScratchHost, times: number): void {
  host.program(
    'apt-get',
    `case $* in
  *' update '*) echo x >>/run/.tried; [ "$(wc -l </run/.tried)" -gt ${times} ] || exit 100 ;;
  *' -s '*) ;;
  *' install '*) printf 'tool 5:2.0,1-1 installed\\nextra 9.9 installed\\n' >${database} ;;
esac`,
  );
}
const again = (pause: number) => `not all package lists could be read, trying again in ${pause} s\n`;
const held = (holder: string) => `waiting, because ${holder} (0 s)\n`;

/** Before anything is installed: package lists, a first boot, an interrupted dpkg, and whoever holds the database. */
export const listsCases: readonly ScriptCase[] = [
  {
    name: 'tries again where an archive does not answer',
    script: engine,
    given: (host) => flaky(host, 2),
    after: {
      stdout: `${again(3)}${again(10)}${words}after\n`,
      calls: [updating[0], updating[1], 'sleep 3', updating[1], 'sleep 10', ...bought.slice(1)] as string[],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'goes on with the lists that it has where none answers',
    script: engine,
    given: (host) => flaky(host, 9),
    after: {
      stdout: `${again(3)}${again(10)}going on with the package lists that could be read\n${words}after\n`,
      calls: [updating[0], updating[1], 'sleep 3', updating[1], 'sleep 10', ...bought.slice(1)] as string[],
      files: { ...updated, ...result },
    },
  },
  {
    name: 'reads only its own source again within half an hour',
    script: engine,
    given: (host) =>
      host
        .file(source)
        .file('/run/azp-fleet/package-lists')
        .age('/run/azp-fleet/package-lists', 28 * 60),
    after: {
      stdout,
      calls: ['dpkg --audit', `${updating[1]} ${only('docker')}`, ...bought.slice(2)],
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
    after: { stdout, calls: bought, files: { ...result, '/run/azp-fleet/package-lists': '755 ' } },
  },
  {
    name: 'reads all lists where its source is not there',
    script: engine,
    given: (host) => host.file('/run/azp-fleet/package-lists'),
    after: { stdout, calls: bought, files: { ...result, '/run/azp-fleet/package-lists': '755 ' } },
  },
  {
    name: 'waits for a first boot to end, and not for ever',
    script: engine,
    given: (host) =>
      host
        .program('/usr/bin/cloud-init', 'echo "status: done"; exit 2')
        .program('cloud-init', 'echo "status: done"; exit 2')
        .program('timeout', 'shift; exec "$@"'),
    after: {
      ...well,
      stdout: `waiting for cloud-init to end\n${stdout}`,
      calls: ['timeout 1200 cloud-init status --wait', 'cloud-init status --wait', ...bought],
    },
  },
  {
    name: 'does not wait for a first boot that is over',
    script: engine,
    given: (host) => host.program('/usr/bin/cloud-init', '').file('/run/cloud-init/result.json'),
    after: well,
  },
  {
    name: 'first ends what an interrupted dpkg left: packages',
    script: engine,
    given: (host) =>
      host.program('dpkg', '[ "$1" != --audit ] || echo "The following packages are only half configured"'),
    after: {
      ...well,
      calls: [
        updating[0],
        'dpkg --configure -a --force-confdef --force-confold',
        ...bought.slice(1),
      ] as string[],
    },
  },
  {
    name: 'first ends what an interrupted dpkg left: updates of its database',
    script: engine,
    given: (host) => {
      host.file('/var/lib/dpkg/updates/0001').program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/dpkg/lock', 812);
    },
    after: {
      ...well,
      stdout: `${held('unknown (pid 812) holds /var/lib/dpkg/lock')}${stdout}`,
      files: { '/proc/locks': '644 ', ...well.files },
      calls: [
        updating[0],
        'sleep 2',
        'dpkg --configure -a --force-confdef --force-confold',
        ...bought.slice(1),
      ] as string[],
    },
  },
  {
    name: 'goes on where an interrupted dpkg cannot be ended: apt unpacks again',
    script: engine,
    given: (host) => host.file('/var/lib/dpkg/updates/0001').program('dpkg', '[ "$1" = --audit ]'),
    after: {
      ...well,
      stdout: `going on: what dpkg cannot configure, apt unpacks again\n${stdout}`,
      calls: [
        updating[0],
        'dpkg --configure -a --force-confdef --force-confold',
        ...bought.slice(1),
      ] as string[],
    },
  },
  {
    name: 'waits for who holds the database, and says so',
    script: engine,
    given: (host) => {
      host.file('/proc/812/comm', 'unattended upgr\n').program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/dpkg/lock-frontend', 812);
    },
    after: {
      ...well,
      stdout: `${held('unattended upgr (pid 812) holds /var/lib/dpkg/lock-frontend')}${stdout}`,
      calls: [updating[0], 'sleep 2', ...bought.slice(1)] as string[],
      files: { '/proc/locks': '644 ', ...well.files },
    },
  },
  {
    name: 'waits for who reads package lists, though its process is gone from /proc',
    script: engine,
    given: (host) => {
      host.file('/var/lib/dpkg/lock').program('sleep', ': >/proc/locks');
      locked(host, '/var/lib/apt/lists/lock', 813);
    },
    after: {
      ...well,
      stdout: `${held('unknown (pid 813) holds /var/lib/apt/lists/lock')}${stdout}`,
      calls: [updating[0], 'sleep 2', ...bought.slice(1)] as string[],
      files: { '/proc/locks': '644 ', ...well.files },
    },
  },
  {
    name: 'gives up on a lock after half an hour',
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
next: let that process end, or end it by hand, and run again
`,
      calls: ['dpkg --audit', ...Array.from({ length: 900 }, () => 'sleep 2')],
    },
  },
];
