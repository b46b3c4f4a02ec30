import { describe, expect, test } from 'vitest';

import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { statusExitCode, statusRow, type StatusRow, jobsView } from '../../../../src/fleet/status/row.ts';
import type { PoolAgents } from '../../../../src/fleet/verdict/host-view.ts';
import { agent, facts, host, now, pool, slot, status } from './observation.ts';

const rowOf = (seen: Facts, agents: PoolAgents = pool): StatusRow =>
  statusRow({ host, facts: seen }, () => agents, now);

test('all fields of a working host', () => {
  expect(rowOf(facts())).toEqual({
    host: 'h200-1',
    pool: 'gpu-lab',
    verdict: { state: 'healthy', cause: '', next: '' },
    findings: [],
    os: { id: 'debian', version: '12', pretty: 'Debian GNU/Linux 12 (bookworm)', arch: 'x86_64' },
    gpus: { count: 2, names: ['NVIDIA H200', 'NVIDIA H200'] },
    driver: '580.95.05',
    docker: '29.7.2',
    toolkit: '1.20.0',
    manager: { version: '0.2.0', state: 'active' },
    local: { wanted: 2, ready: 2, busy: 0 },
    azure: { registered: 2, online: 2, disabled: 0, busy: 0 },
    drained: false,
    drains: [],
    checkedAt: '2026-11-20T09:59:48.000Z',
    oldest: { source: 'gpus', ageS: 12 },
  });
});

test.each([
  [10, ['its clock is 10 min ahead of this machine’s']],
  [1, []],
])('a host whose clock is %i min ahead is not blamed: this machine’s may be wrong', (minutes, named) => {
  const seen = facts({}, { time: now });
  const readAt = now - minutes * 60_000;
  const { verdict, findings } = statusRow({ host, facts: seen, readAt }, () => pool, now);
  expect(verdict.state).toBe('healthy');
  const clocks = findings.filter(({ code }) => code === 'host.clock-off');
  expect(clocks.map(({ what }) => what)).toEqual(named);
});

test('GPUs of virtual machines, and a driver of vGPU software, are named beside the verdict', () => {
  const passedThrough = [{ address: '0000:02:00.0', deviceId: '1b06', boundTo: 'vfio-pci' }];
  const row = rowOf(facts({}, { passedThrough, driver: { vgpu: 'nvidia-gridd.service' } }));
  expect(row).toMatchObject({ verdict: { state: 'healthy' }, gpus: { count: 2 } });
  expect(row.findings.map(({ code, severity, what }) => [code, severity, what])).toEqual([
    ['host.passed-through', 'info', 'reserved for virtual machines (vfio-pci): 0000:02:00.0'],
    [
      'host.vgpu',
      'info',
      'the host uses NVIDIA vGPU (nvidia-gridd.service): azp-fleet does not replace its driver',
    ],
  ]);
});

const withStatus = (difference: Parameters<typeof status>[0]): Facts => facts({ status: status(difference) });
const quarantined = slot('1', { state: 'quarantined', cause: 'GPU: it is lost', next: 'reboot' });
const backingOff = { state: 'backing-off', cause: 'the token was refused', next: 'renew it' } as const;

describe('verdict and cause', () => {
  test.each<[string, () => StatusRow, string, string]>([
    ['bare host', () => rowOf(facts({ current: undefined, status: undefined })), 'failed', 'not provisioned'],
    ['no driver', () => rowOf(facts({}, { driver: { loaded: undefined } })), 'failed', 'kernel module'],
    ['no Docker', () => rowOf(facts({}, { docker: { active: false } })), 'failed', 'Docker Engine'],
    ['no toolkit', () => rowOf(facts({}, { toolkit: { version: undefined } })), 'failed', 'toolkit'],
    ['manager crashed', () => rowOf(facts({ unitActive: 'failed' })), 'failed', 'the manager is failed'],
    ['manager silent', () => rowOf(withStatus({ at: '2026-11-20T09:54:00Z' })), 'unknown', '6 min old'],
    [
      'manager silent by the host’s clock',
      () => rowOf(facts({}, { time: now + 6 * 60_000 })),
      'unknown',
      '6 min old',
    ],
    [
      'a clock that is ten minutes behind ours',
      () =>
        rowOf(
          facts(
            {
              status: status({
                at: '2026-11-20T09:50:00Z',
                health: { ...status().health, checkedAt: '2026-11-20T09:49:50Z' },
              }),
            },
            { time: now - 10 * 60_000 },
          ),
        ),
      'healthy',
      '',
    ],
    ['never reported', () => rowOf(facts({ status: undefined })), 'unknown', 'not reported yet'],
    [
      'a manager of a much newer release',
      () => rowOf(facts({ release: { version: '0.4.0', protocol: 9 } })),
      'degraded',
      'the manager is 0.4.0, this azp-fleet is 0.2.0: they are more than one release apart',
    ],
    [
      'one whose report cannot be read any more',
      () => rowOf(facts({ status: undefined, release: { version: '0.4.0', protocol: 9 } })),
      'unknown',
      'more than one release apart',
    ],
    [
      'a problem of the manager',
      () => rowOf(withStatus({ problems: [{ code: 'azure.auth', what: 'bad token', next: 'renew' }] })),
      'failed',
      'bad token',
    ],
    [
      'image broken',
      () => rowOf(withStatus({ image: { state: 'failed', cause: 'no base' } })),
      'failed',
      'no base',
    ],
    [
      'image being built',
      () => rowOf(withStatus({ image: { state: 'building', progress: 'step 3/9' } })),
      'degraded',
      'being built (step 3/9)',
    ],
    [
      'one slot out',
      () => rowOf(withStatus({ slots: [slot('0'), quarantined] })),
      'degraded',
      'h200-1-1: GPU: it is lost',
    ],
    [
      'all slots out, one cause',
      () => rowOf(withStatus({ slots: [slot('0', backingOff), slot('1', backingOff)] })),
      'failed',
      'h200-1-0, h200-1-1: the token was refused',
    ],
    [
      'offline in the pool',
      () => rowOf(facts(), new Map([agent('0'), agent('1', { status: 'offline' })])),
      'degraded',
      'h200-1-1: runs here, but is offline',
    ],
    ['not in the pool', () => rowOf(facts(), new Map()), 'failed', 'not registered'],
    [
      'disabled by hand',
      () => rowOf(facts(), new Map([agent('0', { enabled: false }), agent('1', { enabled: false })])),
      'degraded',
      'disabled in pool gpu-lab',
    ],
    [
      'between two jobs',
      () =>
        rowOf(
          withStatus({ slots: [slot('0'), slot('1', { since: '2026-11-20T09:59:30Z' })] }),
          new Map([agent('0')]),
        ),
      'healthy',
      '',
    ],
    [
      'drained',
      () =>
        rowOf(
          withStatus({
            drained: true,
            slots: [slot('0', { state: 'drained' }), slot('1', { state: 'drained' })],
          }),
          new Map(),
        ),
      'healthy',
      '',
    ],
    ['pool not readable', () => rowOf(facts(), undefined), 'healthy', ''],
    [
      'slow start',
      () => rowOf(withStatus({ slots: [slot('0'), slot('1', { state: 'starting' })] })),
      'degraded',
      'still starting',
    ],
    [
      'unreachable',
      () =>
        statusRow(
          { host, problem: { code: 'ssh.timeout', what: 'no answer', seen: 'ETIMEDOUT', next: 'look' } },
          () => pool,
          now,
        ),
      'unreachable',
      'no answer: ETIMEDOUT',
    ],
  ])('%s', (_, row, state, cause) => {
    const { verdict } = row();
    expect(verdict.state).toBe(state);
    expect(verdict.cause).toContain(cause);
  });
});

test('a host that is not reached has no other finding, whatever the pool shows of its agents', () => {
  const offline = new Map([agent('0', { status: 'offline' })]);
  const problem = { code: 'ssh.timeout', what: 'no answer' } as const;
  expect(statusRow({ host, problem }, () => offline, now).findings).toEqual([]);
  expect(rowOf(facts(), offline).findings.map(({ code }) => code)).toContain('agents.offline');
});

test('a finding that often ends by itself is shown when it has lasted, and the reason of a closed slot always', () => {
  const begun = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  const hot = (seconds: number) =>
    rowOf(
      withStatus({
        health: {
          ...status().health,
          findings: [
            { code: 'gpu.hot', severity: 'warn', what: 'hot', next: 'cool it', since: begun(seconds) },
          ],
        },
      }),
    );
  expect(hot(30)).toMatchObject({
    verdict: { state: 'healthy' },
    findings: [],
    hidden: [{ code: 'gpu.hot' }],
  });
  expect(hot(61)).toMatchObject({ verdict: { state: 'degraded' }, findings: [{ code: 'gpu.hot' }] });
  const closed = rowOf(
    withStatus({
      health: {
        ...status().health,
        findings: [{ code: 'cuda.not-ready', severity: 'fail', what: 'x', next: 'x', since: begun(1) }],
      },
      slots: [
        slot('0', { state: 'quarantined', code: 'cuda.not-ready', cause: 'GPU: CUDA is not ready' }),
        slot('1'),
      ],
    }),
  );
  expect(closed.verdict.cause).toBe('h200-1-0: GPU: CUDA is not ready');
});

describe('a host that may have powered itself off', () => {
  const problem = { code: 'ssh.timeout', what: 'no answer', next: 'see whether it is on' } as const;
  const idle = { afterS: 1800, run: 'poweroff' };
  const reason = { 'azp-fleet.disabled': 'powered off: idle since 2026-11-20 09:30 UTC' };
  const poweredOff = new Map([agent('0', { enabled: false, status: 'offline', userCapabilities: reason })]);
  const verdictOf = (difference: object, agents: PoolAgents) =>
    statusRow({ host, problem, ...difference }, () => agents, now).verdict;

  test('is off if its agents have that reason in the pool', () => {
    expect(verdictOf({}, poweredOff)).toMatchObject({
      state: 'off',
      cause: expect.stringContaining('idle since 2026-11-20 09:30 UTC'),
      next: expect.stringContaining('start it at its provider'),
    });
  });

  test('is unreachable otherwise, and may be off if it has idle:', () => {
    expect(verdictOf({}, pool)).toMatchObject({ state: 'unreachable', next: problem.next });
    expect(verdictOf({ host: { ...host, idle } }, undefined)).toMatchObject({
      state: 'unreachable',
      next: `${problem.next}; it has idle: and may have powered itself off: check its provider`,
    });
  });

  test('is not off if it answers and refuses the login', () => {
    const refused = { ...problem, code: 'ssh.auth' };
    expect(verdictOf({ problem: refused }, poweredOff).state).toBe('unreachable');
  });
});

test('a fresh probe replaces the manager’s GPU check, but not its kernel log', () => {
  const finding = (code: string) => ({ code, severity: 'fail', what: code, next: 'n' }) as const;
  const health = { state: 'failed', findings: [finding('gpu.lost'), finding('xid.79')] } as const;
  const probe = { verdict: { state: 'healthy', cause: '', next: '' }, findings: [] } as const;
  const row = statusRow({ host, facts: withStatus({ health }), probe }, () => pool, now);
  expect(row.findings.map(({ code }) => code)).toEqual(['xid.79']);
  expect(row.checkedAt).toBe(new Date(now).toISOString());
});

describe('exit code', () => {
  const rows = (state: StatusRow['verdict']['state'], drift?: string[]) => (): StatusRow[] => [
    { ...rowOf(facts()), verdict: { state, cause: '', next: '' }, ...(drift === undefined ? {} : { drift }) },
  ];
  const plain = { strict: false, drift: false, fleetDrift: false, problems: 0 };
  test.each([
    [0, rows('healthy'), plain],
    [0, rows('degraded'), plain],
    [1, rows('degraded'), { ...plain, strict: true }],
    [1, rows('failed'), plain],
    [1, rows('hung'), plain],
    [1, rows('unknown'), plain],
    [1, rows('healthy'), { ...plain, problems: 1 }],
    [0, rows('healthy', []), { ...plain, drift: true }],
    [3, rows('healthy', ['install Docker']), { ...plain, drift: true }],
    [3, rows('failed', ['install Docker']), { ...plain, drift: true }],
    [3, rows('healthy', []), { ...plain, drift: true, fleetDrift: true }],
    [1, rows('unreachable', ['install Docker']), { ...plain, drift: true }],
    [1, rows('unknown', ['install Docker']), { ...plain, drift: true }],
    [0, rows('off'), { ...plain, strict: true }],
    [1, rows('off'), { ...plain, drift: true }],
  ])('%i', (code, seen, asked) => {
    expect(statusExitCode(seen(), asked)).toBe(code);
  });
});

describe('a host with agents in several pools', () => {
  const training = new Map([agent('1')]);
  const pools = new Map<string, PoolAgents>([
    ['gpu-lab', new Map([agent('0')])],
    ['gpu-training', training],
  ]);
  const slots = [slot('0', { pool: 'gpu-lab' }), slot('1', { pool: 'gpu-training', image: 'train:7' })];
  const seen = withStatus({ slots });
  const row = (found: Facts, shown = pools) =>
    statusRow({ host, facts: found }, (name) => shown.get(name), now);

  test('each is found in its pool, and the row has the pool of each', () => {
    expect(row(seen)).toMatchObject({
      pool: 'gpu-lab',
      slots: [
        { slot: '0', pool: 'gpu-lab' },
        { slot: '1', pool: 'gpu-training', image: 'train:7' },
      ],
      azure: { registered: 2, online: 2 },
      verdict: { state: 'healthy' },
    });
  });

  test('one that is not in its pool is reported with that pool', () => {
    const { verdict } = row(seen, new Map<string, PoolAgents>([...pools, ['gpu-training', new Map()]]));
    expect(verdict).toMatchObject({
      state: 'degraded',
      cause: 'h200-1-1: runs here, but is not registered in pool gpu-training',
      next: expect.stringContaining('run `docker stop h200-1-1` on the host') as string,
    });
  });

  test('nothing is counted if one pool could not be listed', () => {
    expect(row(seen, new Map([['gpu-lab', training]]))).not.toHaveProperty('azure');
  });

  test('if all are alike, the row has no slots', () => {
    const alike = [slot('0', { pool: 'gpu-lab', image: 'a' }), slot('1', { pool: 'gpu-lab', image: 'a' })];
    expect(row(withStatus({ slots: alike }))).not.toHaveProperty('slots');
  });

  test('an image that is not ready is named if there are others', () => {
    const images = [
      { state: 'ready' as const, reference: 'a', slots: ['0'] },
      { state: 'failed' as const, reference: 'train:7', cause: 'no such image', slots: ['1'] },
    ];
    expect(row(withStatus({ slots, images })).verdict.cause).toBe(
      'the agent image train:7 failed: no such image',
    );
  });
});

describe('how many jobs may run at once', () => {
  const rows = () => [rowOf(facts()), rowOf(facts())];
  test.each([
    ['unknown', undefined, undefined],
    ['no limit', { permitted: undefined, used: 3 }, undefined],
    ['a limit', { permitted: 1, used: undefined }, { agents: 4, permitted: 1 }],
    ['a limit and the jobs that run', { permitted: 1, used: 1 }, { agents: 4, permitted: 1, used: 1 }],
  ])('%s', (_, jobs, view) => {
    expect(jobsView(rows(), jobs)).toEqual(view);
  });
});

test('--strict ignores a user’s drain, and counts the drain that a run left', () => {
  const exitCode = (...drains: ManagerStatus['drains']) => {
    const seen = facts({ status: status({ drained: true, drains }) });
    return statusExitCode([statusRow({ host, facts: seen }, () => pool, now)], {
      strict: true,
      drift: false,
      fleetDrift: false,
      problems: 0,
    });
  };
  const at = '2026-11-20T09:30:00Z';
  expect(exitCode({ reason: 'fan', at, owner: 'ann' })).toBe(0);
  expect(exitCode({ reason: 'driver', at, owner: 'ann', run: 'r1', command: 'reboot' })).toBe(1);
});
