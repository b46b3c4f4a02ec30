import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { asked, database, dnfCall, settled, stateOf, updated, updating } from './dnf-host.ts';
import { fileAddress, otherFile, unavailable, unfetchable, unfetchableAlone } from './dnf-output.ts';
import {
  installCalls,
  engine,
  checkCalls,
  request,
  stdout,
  success,
  environment,
} from './engine-transaction.ts';

const recovered = `[FAILED] lib-1.0-1.el9.noarch.rpm: Status code: 503 for ${fileAddress} (IP: 10.0.0.1)
Complete!
`;
const again = 'not all packages could be fetched, trying again in 10 s\n';
const unreadable = (address: string, reason: string): string => `failed: ${address} cannot be read
expected: an answer within two attempts
seen: ${reason}
next: check the network, the proxy and the mirrors in the inventory, and run again
`;
const perform = dnfCall('-y --allowerasing shell');
const bring = (before: string): string =>
  dnf.install({
    vendor: 'docker',
    packages: [],
    remove: [],
    mayRemove: [],
    proxy: { noProxy: [] },
    before,
  });
const headers = bring('bring headers gcc');
const bringing = dnfCall('-y install headers gcc');
const brought = {
  stdout: 'dnf did install headers gcc\n',
  files: {
    [database]: `644 ${stateOf('tool 5:1.9-1.el9', 'old 0:1.0-1.el9', 'headers 0:1-1', 'gcc 0:11-1')}`,
  },
};
const failed = '[FAILED] r/noarch/extra,1-1.noarch.rpm: no space';
const locationCall = dnfCall('-q repoquery --location extra-1.0-1.el9.noarch');
const offersHeaders = (host: ScratchHost) => host.file('/var/lib/dnf/offers', 'headers 0:1-1\ngcc 0:11-1\n');
const before = { '/etc/dnf/plugins/versionlock.list': '644 other-0:1-1.*\ntool-5:1.9-1.el9.*\n' };

/** Downloads that fail: of the transaction's packages and of prerequisites. */
export const downloadsCases: readonly ScriptCase[] = [
  {
    name: 'fetches a second time',
    script: engine,
    given: (host) => {
      host.file('/run/unfetched', unavailable);
      host.program('sleep', 'rm /run/unfetched');
    },
    after: {
      ...success,
      stdout: stdout.replace('Complete!', `${unavailable}${again}Complete!`),
      calls: [...checkCalls, perform, 'sleep 10', ...installCalls.slice(checkCalls.length)],
      files: { ...success.files, ...asked(request, request, request), '/run/unfetched': 'gone' },
    },
  },
  {
    name: 'accepts that dnf itself fetched a package after a failure',
    script: engine,
    given: (host) => host.file('/run/trouble', recovered),
    after: { ...success, stdout: stdout.replace('Complete!\n', recovered) },
  },
  {
    name: 'checks the removals again if it waited before the second attempt',
    script: engine,
    given: (host) => {
      const lock = '/var/lib/dnf/rpmdb_lock.pid';
      host.file('/run/unfetched', unavailable).file('/proc/812/comm', 'dnf\n').folder('/var/lib/dnf');
      host.program(
        'sleep',
        `if [ "$1" = 10 ]; then rm /run/unfetched; echo 812 >${lock}; else rm ${lock}; fi`,
      );
    },
    after: {
      ...success,
      stdout: stdout.replace(
        'Complete!',
        `${unavailable}${again}waiting, because dnf (pid 812) holds /var/lib/dnf/rpmdb_lock.pid (0 s)\nComplete!`,
      ),
      calls: [
        ...checkCalls,
        perform,
        'sleep 10',
        'sleep 2',
        checkCalls.at(-1) ?? '',
        ...installCalls.slice(checkCalls.length),
      ],
      files: { ...success.files, ...asked(request, request, request, request), '/run/unfetched': 'gone' },
    },
  },
  {
    name: 'ends with one line and the address if a package cannot be fetched twice, and locks installed packages',
    script: engine,
    given: (host) => {
      host.file('/run/unfetched', unavailable).program('sleep', '');
    },
    after: {
      code: 1,
      stdout: `${environment}${unavailable}${again}${unavailable}`,
      stderr: unreadable(fileAddress, 'Status code: 503'),
      calls: [...checkCalls, perform, 'sleep 10', perform],
      files: { ...updated, ...asked(request, request, request), ...before },
    },
  },
  {
    name: 'queries the address if dnf does not print it',
    script: engine,
    given: (host) => {
      host.file('/run/unfetched', unfetchable(otherFile)).program('sleep', '');
      host.file('/run/location', `${fileAddress}\nhttp://other/${fileAddress}\n`);
    },
    after: {
      code: 1,
      stdout: `${environment}${unfetchable(otherFile)}${again}${unfetchable(otherFile)}`,
      stderr: unreadable(fileAddress, otherFile),
      calls: [...checkCalls, perform, 'sleep 10', perform, locationCall],
      files: { ...updated, ...asked(request, request, request), ...before },
    },
  },
  {
    name: 'names the file if the address is unknown',
    script: headers,
    given: (host) => host.file('/run/unfetched', failed),
    after: {
      code: 1,
      stdout: `${failed}${again}${failed}`,
      stderr: unreadable('extra,1-1.noarch.rpm', 'no space'),
      calls: [
        ...updating,
        bringing,
        'sleep 10',
        bringing,
        dnfCall('-q repoquery --location extra,1-1.noarch'),
      ],
      files: updated,
    },
  },
  {
    name: 'fetches prerequisites a second time',
    script: headers,
    given: (host) => {
      offersHeaders(host).file('/run/unfetched', unavailable).program('sleep', 'rm /run/unfetched');
      host.file('/run/azp-fleet/package-lists').file('/etc/yum.repos.d/azp-fleet-docker.repo');
    },
    after: {
      stdout: `${unavailable}${again}${brought.stdout}`,
      calls: [
        settled,
        dnfCall('--refresh makecache --repo=azp-fleet-docker'),
        bringing,
        'sleep 10',
        bringing,
      ],
      files: { ...brought.files, '/run/unfetched': 'gone' },
    },
  },
  {
    name: 'waits for the lock before it installs prerequisites',
    script: headers,
    given: (host) => {
      offersHeaders(host).file('/run/busy.makecache', '812').file('/proc/812/comm', 'dnf\n');
      host.program('sleep', 'rm /var/lib/dnf/rpmdb_lock.pid');
    },
    after: {
      stdout: `waiting, because dnf (pid 812) holds /var/lib/dnf/rpmdb_lock.pid (0 s)\n${brought.stdout}`,
      calls: [...updating, 'sleep 2', bringing],
      files: { ...updated, ...brought.files, '/run/busy.makecache': 'gone' },
    },
  },
  {
    name: 'ends if prerequisites cannot be fetched twice',
    script: headers,
    given: (host) => {
      offersHeaders(host).file('/run/unfetched', unfetchableAlone).program('sleep', '');
    },
    after: {
      code: 1,
      stdout: `${unfetchableAlone}${again}${unfetchableAlone}`,
      stderr: unreadable(fileAddress, "Curl error (6): Couldn't resolve host name"),
      calls: [...updating, bringing, 'sleep 10', bringing],
      files: updated,
    },
  },
  {
    name: 'reports why prerequisites cannot be installed',
    script: headers,
    after: {
      code: 1,
      stdout: `dnf did install headers gcc
No match for argument: headers
Error: Unable to find a match: headers
`,
      stderr: `failed: dnf could not install prerequisites
expected: headers gcc
seen: Unable to find a match: headers${' '}
next: check the end of /var/log/dnf.log on the host
`,
      calls: [...updating, bringing],
      files: updated,
    },
  },
  {
    name: 'reports the last line of unknown output',
    script: headers,
    given: (host) => host.file('/run/unfetched', 'what?\nCould not open: it\n'),
    after: {
      code: 1,
      stdout: 'what?\nCould not open: it\n',
      stderr: `failed: dnf could not install prerequisites
expected: headers gcc
seen: Could not open: it
next: check the end of /var/log/dnf.log on the host
`,
      calls: [...updating, bringing],
      files: updated,
    },
  },
];
