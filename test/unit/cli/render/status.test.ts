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
! rtx-box: GPU-513536b6: it is too hot [bug]
  next  check airflow, dust, fans and room temperature

✗ h200-3, h200-4: no answer [bug]
  next  is it on?

4 hosts: 1 healthy, 1 degraded, 2 unreachable`);
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
  expect(shown).toBe(`host       gpus  driver  docker  tk    mgr  agents  busy  azure  verdict
297 hosts  2     580.95  29.7.2  1.20  ok   2/2     0     2/2    healthy (12 s)
gpu-007    2     580.95  29.7.2  1.20  ok   2/2     0     2/2    degraded (12 s)
2 hosts    -     -       -       -     -    -       -     -      unreachable

! gpu-007: GPU-513536b6: it is too hot [bug]
  next  check airflow, dust, fans and room temperature

✗ gpu-298, gpu-299: no answer [bug]
  next  is it on?

300 hosts: 297 healthy, 1 degraded, 2 unreachable
`);
  const wide = statusText(gone, { width: 110, height: 24, paint: (_, t) => t });
  expect(wide).toContain('\ngpu-[000-006,008-297]  deb12 ');
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
  next  run "azp-fleet undrain h200-1 h200-2" when it may take jobs again
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
    expect.arrayContaining(['3 hosts', '2', 'healthy (12 s)']),
    expect.arrayContaining(['37 hosts', '0', 'healthy (39 s)']),
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
