import { statSync } from 'node:fs';

import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { asked, dnfCall, settled, updating } from './dnf-host.ts';
import {
  installCalls,
  engine,
  checkCalls,
  request,
  result,
  stdout,
  twoRequests,
  success,
} from './engine-transaction.ts';

const url = 'http://mirror/x/repodata/repomd.xml';
/** Output of dnf 4.14 about a mirror that does not answer. */
const unreachable = `Errors during downloading metadata for repository 'x':
  - Status code: 404 for ${url} (IP: 10.0.0.1)
  - Curl error (28): Timeout was reached for http://other/repodata/repomd.xml []
Error: Failed to download metadata for repo 'x': Cannot download repomd.xml
`;
const again = (pause: number) => `not all package lists could be read, trying again in ${pause} s\n`;
const read = updating[1] ?? '';
const tried = [settled, read, 'sleep 3', read, 'sleep 10'];
const skipped = { '/run/azp-fleet/package-lists': '755 without' };
const waiting = (holder: string) => `waiting, because ${holder} (0 s)\n`;
/** Returns the calls with the option that skips unavailable repositories. */
const without = (calls: readonly string[]): string[] =>
  calls.map((call) => call.replace('--setopt=skip_if_unavailable=0', `'--setopt=*.skip_if_unavailable=1'`));
const waits = waiting('dnf (pid 812) holds /var/lib/dnf/rpmdb_lock.pid');
/** Another process takes the lock during these calls of dnf. */
const interrupted = ['repoquery', 'makecache', 'shell'].map((verb) => `/run/busy.${verb}`);
/** The lock is released once the script has waited. */
const ends = (host: ScratchHost, file: string) => host.program('sleep', `rm -f ${file}`);

/** Before an installation: lists, a first boot, an interrupted transaction, and locks of other processes. */
export const listsCases: readonly ScriptCase[] = [
  {
    name: 'tries again if a repository does not answer',
    script: engine,
    given: (host) => {
      host.file('/run/deaf', unreachable);
      host.program('sleep', '[ "$1" = 3 ] || rm /run/deaf');
    },
    after: {
      ...success,
      stdout: `${again(3)}${again(10)}${stdout}`,
      calls: [...tried, ...installCalls.slice(1)],
      files: { ...success.files, '/run/deaf': 'gone' },
    },
  },
  {
    name: 'continues without a repository that fails three times, in one line with its address',
    script: engine,
    given: (host) => host.file('/run/gone', unreachable.slice(0, unreachable.indexOf(' (IP'))),
    after: {
      ...success,
      stdout: `${again(3)}${again(10)}continuing without a package source: ${url} cannot be read: Status code: 404\n${stdout}`,
      calls: [...tried, read, ...without(installCalls.slice(2))],
      files: { ...success.files, ...skipped },
    },
  },
  {
    name: 'skips it until it reads all lists again',
    script: engine,
    given: (host) =>
      host
        .file('/run/gone', unreachable)
        .file('/run/azp-fleet/package-lists', 'without')
        .file('/etc/yum.repos.d/azp-fleet-docker.repo'),
    after: {
      ...success,
      calls: [
        settled,
        dnfCall('--refresh makecache --repo=azp-fleet-docker'),
        ...without(installCalls.slice(2)),
      ],
      files: { ...twoRequests, ...result },
    },
  },
  ...[true, false].map((isThere) => ({
    name: `ends with the address if its own source fails three times, read ${isThere ? 'alone' : 'with the others'}`,
    script: engine,
    given: (host: ScratchHost) => {
      host.file('/run/deaf', unreachable.replaceAll("'x'", "'azp-fleet-docker'"));
      if (isThere) host.file('/run/azp-fleet/package-lists').file('/etc/yum.repos.d/azp-fleet-docker.repo');
    },
    after: {
      code: 1,
      stdout: `${again(3)}${again(10)}`,
      stderr: `failed: ${url} cannot be read: Status code: 404
expected: the lists of the package source
seen: three failures
next: check the network, the proxy and the mirrors in the inventory
`,
      calls: [...tried, read].map((call) =>
        isThere && call === read ? `${read} --repo=azp-fleet-docker` : call,
      ),
    },
  })),
  {
    name: 'waits before each step, and checks the removals again if it waited after the check',
    script: engine,
    given: (host) => {
      for (const each of interrupted) host.file(each, '812');
      host.file('/proc/812/comm', 'dnf\n').folder('/var/lib/dnf');
      ends(host, '/var/lib/dnf/rpmdb_lock.pid');
    },
    after: {
      ...success,
      stdout: `${waits}${stdout.replace('Complete!', `${waits.repeat(2)}Complete!`)}`,
      calls: [
        settled,
        'sleep 2',
        ...checkCalls.slice(1, -1),
        ...[checkCalls.at(-1) ?? '', checkCalls.at(-1) ?? ''].flatMap((call) => ['sleep 2', call]),
        ...installCalls.slice(checkCalls.length),
      ],
      files: {
        ...success.files,
        ...asked(...Array.from({ length: 3 }, () => request)),
        ...Object.fromEntries(interrupted.map((each) => [each, 'gone'])),
      },
    },
  },
  {
    name: 'continues after unknown output',
    script: engine,
    given: (host) => host.file('/run/deaf', 'what?\n'),
    after: {
      ...success,
      stdout: `${again(3)}${again(10)}continuing without a package source: it cannot be read\n${stdout}`,
      calls: [...tried, read, ...without(installCalls.slice(2))],
      files: { ...success.files, ...skipped },
    },
  },
  ...(['/var/lib/rpm/.rpm.lock', '/usr/lib/sysimage/rpm/.rpm.lock'] as const).map((lock) => ({
    name: `waits for the process that holds ${lock}`,
    script: engine,
    given: (host: ScratchHost) => {
      host.file(lock).file('/proc/812/comm', 'dnf-automatic\n');
      const { ino } = statSync(host.at(lock));
      host.file('/proc/locks', `1: POSIX  ADVISORY  WRITE 812 fe:00:${ino} 0 EOF\n`);
      host.program('sleep', ': >/proc/locks');
    },
    after: {
      ...success,
      stdout: `${waiting(`dnf-automatic (pid 812) holds ${lock}`)}${stdout}`,
      calls: ['sleep 2', ...installCalls],
      files: { ...success.files, '/proc/locks': '644 ' },
    },
  })),
  ...[
    '/var/lib/dnf/rpmdb_lock.pid',
    '/var/cache/dnf/metadata_lock.pid',
    '/var/cache/dnf/download_lock.pid',
  ].map((lock) => ({
    name: `waits for the process whose number is in ${lock}`,
    script: engine,
    given: (host: ScratchHost) => {
      host.file(lock, '812').file('/proc/812/comm', 'dnf\n');
      ends(host, lock);
    },
    after: {
      ...success,
      stdout: `${waiting(`dnf (pid 812) holds ${lock}`)}${stdout}`,
      calls: ['sleep 2', ...installCalls],
      files: { ...success.files, [lock]: 'gone' },
    },
  })),
  {
    name: 'does not wait for a process that has exited',
    script: engine,
    given: (host) => host.file('/var/lib/dnf/rpmdb_lock.pid', '812'),
    after: success,
  },
  {
    name: 'waits at most half an hour',
    script: engine,
    given: (host) => {
      host.file('/var/lib/dnf/rpmdb_lock.pid', '812').file('/proc/812/comm', 'dnf\n');
      host.program('sleep', 'echo x >>/run/slept', { silent: true });
    },
    after: {
      code: 1,
      stdout: Array.from(
        { length: 61 },
        (_, at) => `waiting, because dnf (pid 812) holds /var/lib/dnf/rpmdb_lock.pid (${at * 30} s)\n`,
      ).join(''),
      stderr: `failed: the package database stays locked
expected: a free lock within 30 minutes
seen: dnf (pid 812) holds /var/lib/dnf/rpmdb_lock.pid
next: wait until that process exits, or stop it, and run again
`,
      files: { '/run/slept': `644 ${'x\n'.repeat(900)}` },
    },
  },
  {
    name: 'removes duplicates that an interrupted transaction left',
    script: engine,
    given: (host) => host.file('/run/twice', 'tool-1.8-1.el9.x86_64\ntool-1.9-1.el9.x86_64\n'),
    after: {
      ...success,
      stdout: `dnf did remove\n${stdout}`.replace('remove\n', 'remove \n'),
      calls: [settled, dnfCall(`'--disablerepo=*' -y remove --duplicates`), ...installCalls.slice(1)],
    },
  },
  {
    name: 'rebuilds a damaged database',
    script: engine,
    given: (host) => host.file('/run/damaged'),
    after: { ...success, files: { ...success.files, '/run/rpm': '644 rebuilt\n' } },
  },
  {
    name: 'does not wait for a first boot that has ended',
    script: engine,
    given: (host) => host.program('/usr/bin/cloud-init', '').file('/run/cloud-init/result.json', '{}'),
    after: success,
  },
  {
    name: 'reads all lists if its source is new',
    script: engine,
    given: (host) => host.file('/run/azp-fleet/package-lists'),
    after: { ...success, files: { ...twoRequests, ...result, '/run/azp-fleet/package-lists': '755 ' } },
  },
  {
    name: 'reads all lists again after half an hour',
    script: engine,
    given: (host) =>
      host
        .file('/run/azp-fleet/package-lists')
        .age('/run/azp-fleet/package-lists', 32 * 60)
        .file('/etc/yum.repos.d/azp-fleet-docker.repo'),
    after: { ...success, files: { ...twoRequests, ...result, '/run/azp-fleet/package-lists': '755 ' } },
  },
  {
    name: 'continues if duplicates cannot be removed',
    script: engine,
    given: (host) => {
      host.file('/run/twice', 'tool-1.8-1.el9.x86_64\n').file('/run/stuck');
    },
    after: {
      ...success,
      stdout: `continuing: dnf cannot remove the duplicates that an interrupted transaction left\n${stdout}`,
      calls: [settled, dnfCall(`'--disablerepo=*' -y remove --duplicates`), ...installCalls.slice(1)],
    },
  },
  {
    name: 'waits for a first boot to end',
    script: engine,
    given: (host) => host.program('/usr/bin/cloud-init', '').program('timeout', 'echo done; exit 2'),
    after: {
      ...success,
      stdout: `waiting for cloud-init to end\n${stdout}`,
      calls: ['timeout 1200 cloud-init status --wait', ...installCalls],
    },
  },
];
