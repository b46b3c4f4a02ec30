import { expect, test } from 'vitest';

import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import { statusText } from '../../../../src/cli/render/status.ts';
import { statusRow, type StatusRow } from '../../../../src/fleet/status/row.ts';
import { facts, host, now, pool, slot, status } from '../../fleet/status/observation.ts';

const well = statusRow({ host, facts: facts() }, () => pool, now);
const health = (severity: 'warn' | 'fail') =>
  ({
    state: 'failed',
    checkedAt: '2026-11-20T09:59:48Z',
    findings: [
      {
        code: 'bug',
        gpu: 'GPU-513536b6-7d19',
        severity,
        what: 'it is too hot',
        next: 'check airflow, dust, fans and room temperature',
      },
    ],
  }) as const;
const hot = statusRow(
  { host: { ...host, name: 'rtx-box' }, facts: facts({ status: status({ health: health('warn') }) }) },
  () => pool,
  now,
);
const away: StatusRow = statusRow(
  { host: { ...host, name: 'h200-3' }, problem: { code: 'bug', what: 'no answer', next: 'is it on?' } },
  () => pool,
  now,
);
const text = (rows: readonly StatusRow[], width = 110): string =>
  statusText(rows, { width, paint: (_, t) => t });

test('a healthy host is one line and a sum', () => {
  expect(text([well]))
    .toBe(`host    os         gpus     driver     docker  toolkit  manager  agents  busy  azure       verdict
h200-1  Debian 12  2× H200  580.95.05  29.7.2  1.20.0   0.2.0    2/2     0     2/2 online  healthy (12 s)

1 host: 1 healthy
`);
  expect(text([well, { ...well, host: 'h200-2' }])).toContain('2 hosts, all healthy');
});

test('problems are below with their fix, equal ones once; 80 columns suffice', () => {
  const lines = text([well, hot, away, { ...away, host: 'h200-4' }], 80);
  expect(lines.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(lines).toContain(`
✗ h200-3, h200-4: no answer [bug]
  next  is it on?

! rtx-box: GPU-513536b6: it is too hot [bug]
  next  check airflow, dust, fans and room temperature

4 hosts: 2 unreachable, 1 degraded, 1 healthy`);
});

test('versions without support are named once with their successor; unknown and supported ones are not', () => {
  const support = [
    { part: 'driver', version: '570.195.03', state: 'ended', ends: '2026-02', successor: '580' },
    {
      part: 'distribution',
      version: 'debian 12',
      state: 'ending',
      ends: '2028-06-30',
      successor: 'debian 13',
    },
    { part: 'docker', version: '29.7.2', state: 'unknown' },
    { part: 'toolkit', version: '1.20.0', state: 'supported', ends: '2030-01' },
  ] as const;
  const shown = text(
    [
      { ...well, support },
      { ...well, host: 'h200-2', support },
    ],
    80,
  );
  expect(shown).toContain(`
! h200-1, h200-2: driver branch 570.195.03: vendor support ended in 2026-02
  [support.ended]
  next  change to driver branch 580

! h200-1, h200-2: debian 12: vendor support ends on 2028-06-30 [support.ending]
  next  change to debian 13

2 hosts, all healthy`);
  expect(shown).not.toMatch(/29\.7\.2: vendor|1\.20\.0: vendor/);
});

const many = (row: StatusRow) =>
  Array.from({ length: 300 }, (_, index) => ({ ...row, host: `gpu-${String(index).padStart(3, '0')}` }));

test('three hundred hosts fit a terminal: equal hosts share a line', () => {
  const rows = many(well).map((row, index) => (index === 7 ? { ...hot, host: row.host } : row));
  const gone = rows.map((row, index) => (index > 297 ? { ...away, host: row.host } : row));
  const shown = statusText(gone, { width: 80, height: 24, paint: (_, t) => t });
  expect(shown).toBe(`host                   gpus     agents  busy  azure       verdict
gpu-298, gpu-299       -        -       -     -           unreachable
gpu-007                2        2/2     0     2/2 online  degraded (12 s)
gpu-[000-006,008-297]  2× H200  2/2     0     2/2 online  healthy (12 s)

· all 298 hosts that were read: Debian 12, driver 580.95.05, Docker 29.7.2,
    toolkit 1.20.0, manager 0.2.0

✗ gpu-298, gpu-299: no answer [bug]
  next  is it on?

! gpu-007: GPU-513536b6: it is too hot [bug]
  next  check airflow, dust, fans and room temperature

300 hosts: 2 unreachable, 1 degraded, 297 healthy
`);
  const mixed = gone.map((row, index) => (index < 100 ? { ...row, ...mixedSoftware } : row));
  const narrow = statusText(mixed, { width: 80, height: 24, paint: (_, t) => t });
  expect(narrow).toContain(`host       gpus  driver  docker  tk    mgr  agents  busy  azure  verdict
2 hosts    -     -       -       -     -    -       -     -      unreachable
gpu-007    2     570     28.5.1  1.19  ok   2/2     0     2/2    degraded (12 s)
99 hosts   2     570     28.5.1  1.19  ok   2/2     0     2/2    healthy (12 s)
198 hosts  2     580     29.7.2  1.20  ok   2/2     0     2/2    healthy (12 s)
`);
  const wide = statusText(mixed, { width: 200, height: 60, paint: (_, t) => t });
  expect(wide).toContain('\ngpu-[000-006,008-099]  Ubuntu 24.04  2× H200  570.133.20 ');
});

/** Software that differs from the other rows in each column. */
const mixedSoftware = {
  os: { id: 'ubuntu', version: '24.04', pretty: 'Ubuntu 24.04', arch: 'x86_64' },
  driver: '570.133.20',
  docker: '28.5.1',
  toolkit: '1.19.0',
  manager: { version: '0.1.0', state: 'active' },
};

test('the worst hosts are first, and the totals last, behind the notes on the fleet', () => {
  const off = { ...away, host: 'off', verdict: { state: 'off', cause: 'idle', next: '' } } as const;
  const notes = {
    queues: [
      { pool: 'gpu-lab', jobs: { waiting: 3, running: 2, oldestWaitS: 740 } },
      { pool: 'other', unknown: 'the token may not read it' },
    ],
    drift: ['create pool gpu-lab'],
    jobs: { places: ['Azure DevOps'], severity: 'info', what: '4 agents', next: '' },
  } as const;
  const shown = statusText([well, off, hot, away], { width: 80, paint: (_, t) => t }, notes).split('\n');
  expect(shown.slice(1, 5).map((line) => line.split(' ')[0])).toEqual(['h200-3', 'rtx-box', 'h200-1', 'off']);
  expect(shown).toContain('· queue of pool gpu-lab: 3 jobs waiting up to 12 min; 2 running');
  expect(shown).toContain('· queue of pool other: unknown (the token may not read it)');
  expect(shown.slice(-6)).toEqual([
    '~ Azure DevOps: provision would change: create pool gpu-lab',
    '',
    '· Azure DevOps: 4 agents',
    '',
    '4 hosts: 1 unreachable, 1 degraded, 1 healthy, 1 off',
    '',
  ]);
});

test('what is equal on all hosts is below the table, other software gives way to the rest', () => {
  const other = { ...well, host: 'h200-2', azure: { registered: 2, online: 2, disabled: 1, busy: 0 } };
  const shown = (width: number, more: Partial<StatusRow> = {}) =>
    text([well, { ...other, ...more }], width)
      .split('\n\n')
      .slice(0, 2);
  const unlike = shown(80, { driver: '570.133.20', docker: '28.5.1' });
  expect(unlike[0]?.split('\n')[0]).toMatch(/^host +gpus +driver +docker +agents +busy +azure +verdict$/);
  expect(unlike[1]).toBe('· all hosts: Debian 12, toolkit 1.20.0, manager 0.2.0');
  // Nothing is said of a single host, of what hosts lack, or of a manager that is down.
  expect(text([well])).not.toContain('all hosts');
  const down = { manager: { version: '0.2.0', state: 'failed' } } as const;
  expect(
    text([
      { ...well, ...down },
      { ...other, ...down },
    ]),
  ).toContain('Docker 29.7.2, toolkit 1.20.0\n');
  const headings = [96, 88, 80, 72, 64, 56].map((width) => shown(width, mixedSoftware)[0]?.split('\n')[0]);
  expect(headings.map((line) => line?.split(/ +/).slice(1, -4).join(' '))).toEqual([
    'os gpus driver docker tk mgr',
    'gpus driver docker tk mgr',
    'gpus driver tk mgr',
    'gpus driver mgr',
    'gpus',
    'gpus',
  ]);
  for (const width of [96, 80, 64, 56])
    expect(shown(width, mixedSoftware)[0]).toMatch(/h200-2 .* 2\/2, 1 disabled/);
});

test('in a pipe each host has its own line', () => {
  expect(
    text(many(well))
      .split('\n')
      .filter((line) => line.startsWith('gpu-')),
  ).toHaveLength(300);
});

test('equal drift and equal pools are shown once', () => {
  const rows = many({ ...well, drift: ['install NVIDIA driver 580'] }).map((row) => ({
    ...row,
    slots: [
      { slot: '0', pool: 'gpu-a' },
      { slot: '1', pool: 'gpu-b' },
    ],
  }));
  const shown = statusText(rows, { width: 80, height: 24, paint: (_, t) => t });
  expect(shown).toContain('· gpu-[000-299]\n  0: pool gpu-a\n  1: pool gpu-b\n\n');
  expect(shown).toContain(
    '~ gpu-[000-299]: provision would change\n    - install NVIDIA driver 580\n\n300 hosts, all healthy',
  );
});

test('busy, drained and disabled agents are shown', () => {
  const busy = statusRow(
    { host, facts: facts({ status: status({ slots: [slot('0', { state: 'busy' }), slot('1')] }) }) },
    () => undefined,
    now,
  );
  expect(text([busy])).toMatch(/ {2}2\/2 {5}1 {5}\? /);
  expect(text([{ ...well, drained: true }])).toContain('  drained  ');
  expect(text([{ ...well, azure: { registered: 2, online: 2, disabled: 1, busy: 0 } }])).toContain(
    '2/2 online, 1 disabled',
  );
});

test('a drain is shown with its time and the command that ends it; only a run’s drain is a problem', () => {
  const at = '2026-11-20T09:30:00Z';
  const drains = [
    { reason: 'new fan', at, owner: 'ann@laptop' },
    { reason: 'restart Docker', at, owner: 'bob@ci', run: 'r1' },
  ];
  const seen = facts({ status: status({ drained: true, drains }) });
  const rows = ['h200-1', 'h200-2'].map((name) =>
    statusRow({ host: { ...host, name }, facts: seen }, () => pool, now),
  );
  const lines = text(rows);
  expect(lines).toContain(`
! h200-1, h200-2: whole host drained by run r1 of bob@ci: restart Docker, since 2026-11-20 09:30 UTC;
  interrupted [agents.left-drained]
  next  run "azp-fleet provision h200-1 h200-2": it checks the host and enables its agents again (or run
        "azp-fleet undrain h200-1 h200-2")

· h200-1, h200-2: whole host drained by ann@laptop: new fan, since 2026-11-20 09:30 UTC
  next  run "azp-fleet undrain h200-1 h200-2 --of ann" when it may take jobs again
`);
  expect(lines.match(/whole host drained/gu)).toHaveLength(2);
  expect(lines).toContain('2 hosts, all degraded');
  const byHand = facts({ status: status({ drained: true, drains: drains.slice(0, 1) }) });
  expect(text([statusRow({ host, facts: byHand }, () => pool, now)])).toContain('1 host: 1 healthy');
});

test('a host that powers itself off shows when, or what keeps it on', () => {
  const idle = { afterS: 1800, run: 'poweroff', idleS: 720 };
  const rowOf = (name: string, idleStatus: typeof idle & ManagerStatus['idle']) =>
    statusRow(
      { host: { ...host, name }, facts: facts({ status: status({ idle: idleStatus }) }) },
      () => pool,
      now,
    );
  const stays = { what: 'lab is logged in since 2026-11-20 09:30 UTC', next: 'log out' };
  const lines = text([rowOf('a', idle), rowOf('b', idle), rowOf('c', { ...idle, stays })]);
  expect(lines).toContain(`
· a, b: idle for 12 min, powers off in 18 min

· c: stays on: lab is logged in since 2026-11-20 09:30 UTC
  next  log out
`);
  expect(lines).toContain('3 hosts, all healthy');
});

test('a host that is powered off is shown with the others, and is not a problem', () => {
  const off: StatusRow = {
    ...away,
    verdict: {
      state: 'off',
      cause: 'idle since 2026-11-20 09:30 UTC, and powered itself off',
      next: 'start it',
    },
  };
  const lines = text([well, off], 80);
  expect(lines).toContain(
    '· h200-3: idle since 2026-11-20 09:30 UTC, and powered itself off\n  next  start it',
  );
  expect(lines).toContain('2 hosts: 1 healthy, 1 off');
});

test('a job that began before the last change is named, and is not a problem', () => {
  const slots = [slot('0', { state: 'busy', job: 'train', settings: 'changed' }), slot('1')];
  const row = statusRow({ host, facts: facts({ status: status({ slots }) }) }, () => pool, now);
  expect(text([row])).toContain('· h200-1: running a job from before the last change: h200-1-0 (train)\n');
  expect(text([row])).toContain('1 host: 1 healthy');
});

test('drift lists the changes', () => {
  expect(text([{ ...well, drift: ['install Docker Engine 29.7.2'] }])).toContain(
    '~ h200-1: provision would change\n    - install Docker Engine 29.7.2',
  );
});

test('if slots differ, the pool and the image of each are shown', () => {
  const slots = [
    slot('0', { pool: 'gpu-lab', image: 'azp-fleet/agent:1' }),
    slot('1', { pool: 'gpu-training', image: 'registry.lab.example/training:7' }),
  ];
  const row = statusRow({ host, facts: facts({ status: status({ slots }) }) }, () => pool, now);
  expect(text([row])).toContain(`
· h200-1
  0: pool gpu-lab, image azp-fleet/agent:1
  1: pool gpu-training, image registry.lab.example/training:7
`);
});

test('for one host the memory of each agent is shown', () => {
  const share = (mib: number | undefined) => ({
    share: { cpuShares: 1024, ...(mib === undefined ? {} : { memoryMiB: mib }) },
  });
  const shown = (...mibs: readonly (number | undefined)[]): StatusRow => {
    const slots = mibs.map((mib, index) => slot(String(index), share(mib)));
    return statusRow({ host, facts: facts({ status: status({ slots }) }) }, () => pool, now);
  };
  expect(text([shown(61_440, 61_440)])).toContain('\n· memory of each agent: 60 GiB\n');
  expect(text([shown(61_440, 262_144, undefined)])).toContain(
    '\n· memory of each agent: 0 60 GiB; 1 256 GiB; 2 no limit\n',
  );
  expect(text([shown(61_440), { ...shown(61_440), host: 'h200-2' }])).not.toContain('memory');
  expect(shown(61_440).shares).toEqual([{ slot: '0', memoryMiB: 61_440, cpuShares: 1024 }]);
});

test('at 80 columns forty hosts show how many agents are busy, and the oldest age of equal hosts', () => {
  const rows = Array.from({ length: 40 }, (_, index) => {
    const slots = ['0', '1'].map((name) => slot(name, index < 3 ? { state: 'busy' } : {}));
    const seen = facts({
      status: status({ slots, at: new Date(now - index * 1000).toISOString() }),
    });
    return statusRow({ host: { ...host, name: `gpu-${index + 10}` }, facts: seen }, () => pool, now);
  });
  const shown = statusText(rows, { width: 80, height: 24, paint: (_, t) => t }).split('\n');
  expect(shown.slice(0, 3).map((line) => line.split(/ {2,}/))).toEqual([
    expect.arrayContaining(['agents', 'busy', 'verdict']),
    expect.arrayContaining(['gpu-[10-12]', '2', 'healthy (12 s)']),
    expect.arrayContaining(['gpu-[13-49]', '0', 'healthy (39 s)']),
  ]);
  expect(shown.filter((line) => line.length > 80)).toEqual([]);
});

test('slots that the command line names are shown with their state and its reason', () => {
  const busy = { ...slot('0'), state: 'busy', job: 'train', jobSince: '2026-11-20T09:00:00Z' } as const;
  const waits = { ...slot('1'), state: 'waiting', cause: 'the pool is away', next: 'check it' } as const;
  const lines = text([{ ...well, named: [busy, waits] }], 120);
  expect(lines).toContain(`h200-1/0: agent ${busy.agent}: busy, since 2026-11-20 09:00 UTC, train`);
  expect(lines).toMatch(/h200-1\/1: agent \S+: waiting, since [^:]+:\d\d UTC: the pool is away\n.*check it/);
});
