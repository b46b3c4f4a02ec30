import { chownSync } from 'node:fs';

import { clearUserScript } from '../../../../src/manager/host-mode/user.ts';
import type { Outcome, ScratchHost } from '../../../support/scratch/host.ts';
import type { ScriptCase, ScriptSuite } from '../../../support/scratch/case.ts';

const ownUid = process.getuid?.() ?? 0;
/** Only root may give files to another user. */
const uid = ownUid < 100 ? 58_999 : ownUid;
const unit = 'azp-fleet-agent-bare.service';
const slice = `user-${uid}.slice`;
const groups = [`/system.slice/${unit}`, `/user.slice/${slice}`];
const container = `/docker/${'ab'.repeat(32)}`;

interface Shown {
  readonly uids?: string;
  readonly state?: string;
  readonly comm?: string;
  readonly cgroup?: string;
  readonly namespace?: string;
  readonly threads?: readonly number[];
}

/** A process as /proc shows it. */
function add(host: ScratchHost, pid: number, shown: Shown = {}): void {
  const { uids = `${uid} ${uid} ${uid} ${uid}`, state = 'S (sleeping)', comm = 'train.py' } = shown;
  const { cgroup = '/user.slice/x', namespace = 'pid:[1]', threads = [pid] } = shown;
  const at = `/proc/${pid}`;
  const words = uids.split(' ').join('\t');
  host.file(`${at}/status`, `Name:\t${comm}\nState:\t${state}\nUid:\t${words}\nGid:\t0\t0\t0\t0\n`);
  host.file(`${at}/stat`).file(`${at}/comm`, `${comm}\n`).file(`${at}/cgroup`, `0::${cgroup}\n`);
  host.link(`${at}/ns/pid`, namespace).folder(...threads.map((thread) => `${at}/task/${thread}`));
}

/** The files of a killed process. */
function gone(pid: number): Outcome['files'] {
  const below = ['', '/cgroup', '/comm', '/ns', '/ns/pid', '/stat', '/status', '/task', `/task/${pid}`];
  return Object.fromEntries(below.map((path) => [`/proc/${pid}${path}`, 'gone']));
}

const stopped = [
  `systemctl show --property=ControlGroup ${unit} ${slice}`,
  `systemctl kill --signal=KILL ${unit} ${slice}`,
];
const twice = 'sleep 0.2';
const between = ['loginctl disable-linger azp-agent-bare', `systemctl stop user@${uid}.service ${slice}`];
/** Of a run that kills these processes before it looks for what starts new ones. */
const killing = (...kills: readonly string[]): readonly string[] => [
  ...stopped,
  ...kills,
  twice,
  ...between,
  twice,
];
const kill = (...pids: readonly number[]): readonly string[] => [`kill -KILL ${pids.join(' ')}`, 'sleep 0.1'];

const shows = (...paths: readonly string[]): string =>
  `[ "$1" != show ] || printf '%s\\n' ${paths.map((path) => `'ControlGroup=${path}' ''`).join(' ')}`;

const args = ['azp-agent-bare', String(uid), unit];

const one = (name: string, after: Partial<Outcome>, given?: ScriptCase['given']): ScriptCase => ({
  name,
  script: clearUserScript,
  run: { args },
  ...(given === undefined ? {} : { given }),
  after,
});

/** A file of the user, wherever it is. */
function own(host: ScratchHost, ...paths: readonly string[]): void {
  for (const path of paths) {
    host.file(path);
    chownSync(host.at(path), uid, -1);
  }
}

const left = ['/tmp/a', '/var/tmp/b', '/dev/shm/c', '/dev/mqueue/d'];
const starters = [
  '/var/lib/systemd/linger/azp-agent-bare',
  '/var/spool/cron/crontabs/azp-agent-bare',
  '/var/spool/cron/tabs/azp-agent-bare',
  '/var/spool/cron/azp-agent-bare',
];
const ofCron = ['/var/spool/cron/x/a', '/var/spool/at/b'];

/** The script that kills what a job in host mode left. */
export const clearUserSuite: ScriptSuite = {
  name: 'clear user',
  flags: [],
  given: (host) => {
    host.program('systemctl', '').program('loginctl', '').program('ipcrm', '');
    host.program('kill', 'for each; do case $each in -*) ;; *) rm -rf "/proc/$each" ;; esac; done');
    host.link('/proc/1/ns/pid', 'pid:[1]').folder('/var/spool/cron', '/var/spool/at');
    host.folder('/var/tmp', '/dev/shm', '/dev/mqueue');
    for (const kind of ['shm', 'msg', 'sem']) host.file(`/proc/sysvipc/${kind}`, 'key id\n');
  },
  cases: [
    one('without processes it looks twice', { calls: killing() }),
    one(
      'the control groups of unit and slice may not fork, and are killed, in each tree',
      {
        calls: killing(),
        files: Object.fromEntries(
          groups.flatMap((group) => [
            [`/sys/fs/cgroup${group}/pids.max`, '644 0\n'],
            [`/sys/fs/cgroup${group}/cgroup.kill`, '644 1\n'],
            [`/sys/fs/cgroup/pids${group}/pids.max`, '644 0\n'],
            [`/sys/fs/cgroup/unified${group}/cgroup.kill`, '644 1\n'],
          ]),
        ),
      },
      (host) => {
        host.program('systemctl', shows(...groups));
        for (const group of groups) {
          host.file(`/sys/fs/cgroup${group}/pids.max`, 'max\n').file(`/sys/fs/cgroup${group}/cgroup.kill`);
          host.file(`/sys/fs/cgroup/pids${group}/pids.max`, 'max\n');
          host.file(`/sys/fs/cgroup/unified${group}/cgroup.kill`);
        }
      },
    ),
    one('no other control group is changed, and no file is created', { calls: killing() }, (host) => {
      const others = ['/', '', '/system.slice', `/system.slice/x-${unit}`, `/user.slice/${slice}/x`];
      host.program('systemctl', shows(...others, ...groups));
      for (const group of others)
        host.file(`/sys/fs/cgroup/${group}/pids.max`, 'max\n').file(`/sys/fs/cgroup/${group}/cgroup.kill`);
      host.folder(...groups.map((group) => `/sys/fs/cgroup/pids${group}`));
    }),
    one(
      'processes of the user are killed by any of their numbers, those of others are not',
      { calls: killing(...kill(41, 42)), files: { ...gone(41), ...gone(42) } },
      (host) => {
        add(host, 41);
        add(host, 42, { uids: `0 0 ${uid} 0` });
        add(host, 43, { uids: `${uid}1 1${uid} 0 0` });
      },
    ),
    one(
      'a process that was in no list at first is killed',
      { calls: [...stopped, twice, ...kill(77), twice, ...between, twice], files: gone(77) },
      (host) => {
        add(host, 77);
        host.program('sleep', '[ -e /run/.later ] || { : >/run/.later; mv /run/.77 /proc/77; }');
        host.program('systemctl', '[ -e /run/.later ] || [ -e /run/.77 ] || mv /proc/77 /run/.77');
      },
    ),
    one(
      'a process in a container with the same number is left alone, if an engine alone made its control group',
      { calls: killing(...kill(52, 53, 54)), files: { ...gone(52), ...gone(53), ...gone(54) } },
      (host) => {
        add(host, 51, { namespace: 'pid:[2]', cgroup: container });
        add(host, 52, { namespace: 'pid:[1]', cgroup: container });
        add(host, 53, { namespace: 'pid:[2]', cgroup: `/user.slice/u${container}` });
        add(host, 54, { namespace: 'pid:[2]', cgroup: `/system.slice/${unit}${container}` });
        add(host, 55, { namespace: 'pid:[2]', cgroup: '/kubepods/pod1' });
      },
    ),
    one(
      'a zombie is no process, one with another thread is',
      {
        calls: killing(...kill(62)),
        files: { ...gone(62), '/proc/62/task/63': 'gone' },
      },
      (host) => {
        add(host, 61, { state: 'Z (zombie)' });
        add(host, 62, { state: 'Z (zombie)', threads: [62, 63] });
      },
    ),
    {
      ...one('a process that does not exit is named', {
        code: 3,
        stdout: '71 D (disk sleep) train.py\n',
        calls: [...stopped, ...Array<readonly string[]>(100).fill(kill(71)).flat()],
      }),
      given: (host) => {
        add(host, 71, { state: 'D (disk sleep)' });
        host.program('kill', '');
      },
    },
    one(
      'lingering, crontabs and jobs of at are removed',
      {
        calls: killing(),
        files: Object.fromEntries([...starters, ...ofCron].map((path) => [path, 'gone'])),
      },
      (host) => own(host, ...starters, ...ofCron),
    ),
    one(
      'lingering that cannot be removed is an error',
      {
        code: 3,
        stdout: '/var/lib/systemd/linger/azp-agent-bare is still there\n',
        stderr: "rm: cannot remove '/var/lib/systemd/linger/azp-agent-bare': Is a directory\n",
        calls: killing(),
      },
      (host) => host.folder('/var/lib/systemd/linger/azp-agent-bare'),
    ),
    one(
      'its files and its shared memory, queues and semaphores are removed, not those of others',
      {
        calls: [...killing(), 'ipcrm -m 11', 'ipcrm -m 12', 'ipcrm -q 21', 'ipcrm -s 31'],
        files: Object.fromEntries(left.map((path) => [path, 'gone'])),
      },
      (host) => {
        own(host, ...left);
        // Columns of proc_pid_sysvipc(5): owner and creator.
        const row = (id: number, at: number, owner: number, creator: number): string =>
          ['0', id, ...Array<number>(at - 3).fill(7), owner, 0, creator, 0].join(' ');
        const table = (...rows: readonly string[]): string => `${['key id', ...rows].join('\n')}\n`;
        host.file(
          '/proc/sysvipc/shm',
          table(row(11, 8, uid, 0), row(12, 8, 0, uid), row(13, 8, 0, 0), row(14, 5, uid, uid)),
        );
        host.file('/proc/sysvipc/msg', table(row(21, 8, uid, uid), row(22, 8, 0, 0)));
        host.file('/proc/sysvipc/sem', table(row(31, 5, uid, uid), row(32, 5, 0, 0)));
      },
    ),
  ],
};
