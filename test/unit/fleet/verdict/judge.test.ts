// The whole host: the cause, what counts as failed, and which problems may end by waiting.
import { describe, expect, test } from 'vitest';

import { Capabilities, HostPaths } from '../../../../src/shared/contract/paths.ts';
import { ourRelease } from '../../../../src/shared/contract/release.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Checkup } from '../../../../src/shared/health/checkup.ts';
import { judge } from '../../../../src/fleet/verdict/judge.ts';
import type { HostView } from '../../../../src/fleet/verdict/host-view.ts';
import { agent, facts, now, pool, slot, status } from '../status/observation.ts';

const hostView = (seen: Facts, difference: Partial<HostView> = {}): HostView => ({
  host: 'h200-1',
  facts: seen,
  agentsIn: () => pool,
  now,
  ...difference,
});
const withStatus = (difference: Partial<ManagerStatus>): HostView =>
  hostView(facts({ status: status(difference) }));
const healthy = { state: 'healthy', cause: '', next: '' };

const held = {
  state: 'backing-off',
  code: 'agent.name-held',
  cause: 'the name is held',
  next: 'adopt',
} as const;
const updating = {
  state: 'idle',
  code: 'image.outdated',
  cause: 'the server requires a newer agent than the image has',
  next: 'raise agent.version',
} as const;
const starting = { state: 'starting', since: '2026-11-20T09:59:45Z' } as const;
const disabledByManager = (name: string) =>
  agent(name, { enabled: false, userCapabilities: { [Capabilities.drainReason]: 'drained by ann: fan' } });
const drained = { state: 'drained', code: 'drained' } as const;
const before = { id: 'r0', startedAt: '2026-11-20T08:00:00Z', agentId: 1, settings: 'before' };
const refused = { code: 'azure.auth', what: 'the token is not accepted', next: 'replace it' };
const away = { code: 'azure.unreachable', what: 'no answer', next: 'check the network' };

describe('the verdict', () => {
  test.each<[string, HostView, object]>([
    ['healthy', hostView(facts()), healthy],
    [
      'no slot at all: no agent takes jobs',
      withStatus({ slots: [] }),
      {
        state: 'failed',
        cause: 'the manager has no slots, so no agent of this host takes jobs',
        next: expect.stringContaining('check its GPUs') as string,
      },
    ],
    [
      'one of two slots is held',
      withStatus({ slots: [slot('0', held), slot('1')] }),
      { state: 'degraded', cause: 'h200-1-0: the name is held', next: 'adopt' },
    ],
    [
      'both are',
      withStatus({ slots: [slot('0', held), slot('1', held)] }),
      { state: 'failed', cause: 'h200-1-0, h200-1-1: the name is held' },
    ],
    [
      'the only agent was asked to update: it listens, or still downloads',
      withStatus({ slots: [slot('0', updating)] }),
      {
        state: 'degraded',
        cause: 'h200-1-0: the server requires a newer agent than the image has',
        next: 'raise agent.version',
      },
    ],
    [
      'the same, with a job',
      withStatus({ slots: [slot('0', { ...updating, state: 'busy' })] }),
      { state: 'degraded' },
    ],
    [
      'one agent was asked to update, the other does not work',
      withStatus({ slots: [slot('0', updating), slot('1', held)] }),
      { state: 'degraded' },
    ],
    [
      'agents that ended for the update do not work',
      withStatus({ slots: [slot('0', { ...updating, state: 'backing-off' })] }),
      { state: 'failed' },
    ],
    [
      'one is, and the other is drained',
      withStatus({ slots: [slot('0', held), slot('1', drained)] }),
      { state: 'failed' },
    ],
    [
      'one is, the other is starting',
      withStatus({ slots: [slot('0', held), slot('1', starting)] }),
      { state: 'degraded' },
    ],
    [
      'different causes',
      withStatus({ slots: [slot('0', held), slot('1', { ...held, cause: 'another' })] }),
      { state: 'failed', cause: 'h200-1-0: the name is held (and 1 more)' },
    ],
    [
      'an agent whose name is in the cause is named once',
      withStatus({
        slots: [slot('0', { ...held, cause: 'agent h200-1-0 belongs to another installation' }), slot('1')],
      }),
      { cause: 'agent h200-1-0 belongs to another installation' },
    ],
    [
      'all disabled by hand',
      hostView(facts(), {
        agentsIn: () => new Map([agent('0', { enabled: false }), agent('1', { enabled: false })]),
      }),
      { state: 'degraded' },
    ],
    [
      'a problem of the manager comes before its slots',
      withStatus({ problems: [refused], slots: [slot('0', held), slot('1', held)] }),
      { state: 'failed', cause: 'the token is not accepted (and 1 more)' },
    ],
    [
      'slots that wait for that problem have no finding',
      withStatus({ problems: [away], slots: [slot('0', { state: 'waiting', cause: 'no pool' }), slot('1')] }),
      { cause: 'no answer', next: 'check the network' },
    ],
    [
      'an older configuration',
      hostView(facts({}, { files: { [HostPaths.config]: 'y' } })),
      { state: 'failed', cause: 'the manager runs with the configuration before the last change' },
    ],
    ['the current one', hostView(facts({}, { files: { [HostPaths.config]: 'x' } })), healthy],
    [
      'drained by a run',
      withStatus({
        drained: true,
        drains: [{ reason: 'restart', at: '2026-11-20T09:30:00Z', run: 'r' }],
        slots: [slot('0', drained), slot('1', drained)],
      }),
      {
        state: 'degraded',
        cause: 'whole host drained by run r: restart, since 2026-11-20 09:30 UTC; interrupted',
      },
    ],
    [
      'drained by a user',
      withStatus({
        drained: true,
        drains: [{ reason: 'fan', at: '2026-11-20T09:30:00Z', owner: 'ann' }],
        slots: [slot('0', drained), slot('1', drained)],
      }),
      { ...healthy, note: 'drained by ann: fan, since 2026-11-20 09:30 UTC' },
    ],
    [
      'drained by a user, with a job for an hour',
      hostView(
        facts({
          status: status({
            drained: true,
            drains: [{ reason: 'disk swap', at: '2026-11-20T09:30:00Z', owner: 'ann' }],
            slots: [slot('0', { state: 'busy', since: '2026-11-20T09:00:00Z' }), slot('1', drained)],
          }),
        }),
        { agentsIn: () => new Map([disabledByManager('0'), disabledByManager('1')]) },
      ),
      { ...healthy, note: 'drained by ann: disk swap, since 2026-11-20 09:30 UTC' },
    ],
    [
      'one slot drained by a user, and the agent of the other disabled by hand',
      hostView(
        facts({
          status: status({
            drains: [{ slot: '0', reason: 'fan', at: '2026-11-20T09:30:00Z' }],
            slots: [slot('0', { state: 'busy' }), slot('1')],
          }),
        }),
        { agentsIn: () => new Map([disabledByManager('0'), agent('1', { enabled: false })]) },
      ),
      {
        state: 'degraded',
        cause: 'h200-1-1: disabled in pool gpu-lab, so it gets no jobs',
        note: 'slot 0 drained: fan, since 2026-11-20 09:30 UTC',
      },
    ],
    [
      'with jobs from before the change',
      withStatus({
        slots: [
          slot('0', { state: 'busy', run: before, job: 'train' }),
          slot('1', { state: 'busy', run: before }),
        ],
      }),
      { ...healthy, note: 'running a job from before the last change: h200-1-0 (train), h200-1-1' },
    ],
    [
      'no report for long',
      hostView(facts(), { now: now + 6 * 60_000 }),
      { state: 'unknown', cause: 'the manager’s last report is 6 min old' },
    ],
    ['a report with an invalid time', withStatus({ at: 'noon' }), { state: 'unknown' }],
    [
      'not provisioned',
      hostView(facts({ current: undefined })),
      { state: 'failed', cause: 'the host is not provisioned: it has no manager' },
    ],
  ])('%s', (_, seen, expected) => {
    expect(judge(seen).verdict).toMatchObject(expected);
  });

  test('an older manager: whether its agents are current is unknown', () => {
    const { run: _, settings: __, ...old } = slot('0');
    const { verdict } = judge(withStatus({ slots: [old, { ...old, slot: '1', agent: 'h200-1-1' }] }));
    expect(verdict).toEqual({
      state: 'degraded',
      cause:
        'h200-1-0, h200-1-1: unknown whether the current configuration is in effect: the manager (0.2.0) does not report the configuration of its agents',
      next: 'run `azp-fleet provision`, which updates the manager to the version of this program',
      troubles: ['h200-1-0', 'h200-1-1'].map((on) => ({ code: 'agents.untold', on })),
    });
  });

  test('a GPU fault of a fresh probe comes before agents that wait for that GPU', () => {
    const finding = { code: 'gpu.lost', severity: 'fail', what: 'it is lost', next: 'reboot' } as const;
    const probe: Checkup = {
      verdict: { state: 'failed', cause: 'it is lost', next: 'reboot' },
      findings: [finding],
    };
    const slots = ['0', '1'].map((name) => slot(name, { state: 'quarantined', cause: 'GPU: it is lost' }));
    expect(judge({ ...withStatus({ slots }), probe }).verdict.cause).toBe('it is lost (and 1 more)');
  });

  test('a fresh probe replaces what the manager’s nvidia-smi showed, not what a container does not check', () => {
    const found = [
      'gpu.hot',
      'gpu.nvlink-inactive',
      'host.nfs-failed',
      'xid.79',
      'nvswitch.sxid-fatal',
      'host.read-only',
    ].map((code) => ({ code, severity: 'fail', what: code, next: 'x' }) as const);
    const view = withStatus({ health: { ...status().health, findings: found } });
    const probe: Checkup = { verdict: { state: 'healthy', cause: '', next: '' }, findings: [] };
    expect(judge({ ...view, probe }).findings.map(({ code }) => code)).toEqual([
      'gpu.nvlink-inactive',
      'host.nfs-failed',
      'xid.79',
      'nvswitch.sxid-fatal',
      'host.read-only',
    ]);
  });
});

describe('findings that another one causes', () => {
  const found = (code: string, what = code) => ({ code, severity: 'fail', what, next: 'fix it' }) as const;
  const codes = (view: HostView) => judge(view).findings.map(({ code }) => code);
  const reports = (difference: Partial<ManagerStatus>, seen: Parameters<typeof facts>[1]): HostView =>
    hostView(facts({ status: status(difference) }, seen));
  const noDriver = { driver: { loaded: undefined } };
  const noDocker = { docker: { active: false }, toolkit: { version: undefined } };
  const gpuFindings = (...all: readonly string[]) => ({
    health: { ...status().health, state: 'failed' as const, findings: all.map((code) => found(code)) },
  });

  test('without the driver, nvidia-smi and the slots do not work', () => {
    const slots = ['0', '1'].map((name) => slot(name, { state: 'quarantined', cause: 'no driver' }));
    const view = reports({ ...gpuFindings('smi.failed', 'gpu.missing'), slots }, noDriver);
    expect(codes(view)).toEqual(['driver.not-loaded']);
    expect(judge(view).hidden.map(({ code, behind }) => [code, behind])).toEqual([
      ['smi.failed', 'driver.not-loaded'],
      ['gpu.missing', 'driver.not-loaded'],
      ['agents.quarantined', 'driver.not-loaded'],
    ]);
    expect(judge(view).verdict.cause).not.toContain('more)');
    expect(codes(reports(gpuFindings('smi.failed', 'gpu.missing'), {}))).toEqual([
      'smi.failed',
      'gpu.missing',
    ]);
  });

  test('a probe that fails without the driver adds nothing', () => {
    const probe: Checkup = {
      verdict: { state: 'failed', cause: 'x', next: 'x' },
      findings: [{ ...found('engine.no-gpu-driver'), code: 'engine.no-gpu-driver' }],
    };
    expect(codes({ ...reports({}, noDriver), probe })).toEqual(['driver.not-loaded']);
    expect(codes({ ...reports({}, {}), probe })).toEqual(['engine.no-gpu-driver']);
  });

  test('without Docker, the trouble of the manager and the toolkit follow from that', () => {
    const trouble: Partial<ManagerStatus> = {
      problems: [found('engine.unreachable')],
      image: { state: 'failed', cause: 'no Docker' },
      slots: [slot('0', { state: 'backing-off', code: 'engine.timeout', cause: 'x' }), slot('1')],
    };
    expect(codes(reports(trouble, noDocker))).toEqual(['docker.down']);
    expect(codes(reports(trouble, {}))).toEqual(['engine.unreachable']);
    expect(codes(reports({ image: { state: 'failed', cause: 'no base' } }, {}))).toEqual(['image.failed']);
  });

  test('what has another cause is shown, too', () => {
    const view = reports({ ...gpuFindings('xid.79'), problems: [refused] }, noDocker);
    expect(codes(view)).toEqual(['docker.down', 'azure.auth', 'xid.79']);
  });

  test('a manager that is stopped is failed, also while its report is old; nothing of that report is waited for', () => {
    const view = hostView(facts({ unitActive: 'failed' }), { now: now + 6 * 60_000 });
    expect(judge(view)).toMatchObject({
      verdict: { state: 'failed' },
      waiting: [],
      oldest: { source: 'facts' },
    });
    expect(codes(view)).toEqual(['manager.down']);
  });

  test('a host without a manager has no other finding', () => {
    expect(codes(hostView(facts({ current: undefined, unitActive: undefined, status: undefined })))).toEqual([
      'host.not-provisioned',
    ]);
  });
});

describe('a host whose manager could not be read', () => {
  const unread = (difference: Parameters<typeof facts>[1] = {}): HostView =>
    hostView(facts({}, { unknown: [{ fact: 'manager', why: 'no answer in 5 s' }], ...difference }));
  const hot = { code: 'gpu.hot', severity: 'warn', what: 'hot', next: 'cool it' } as const;
  const lost = { code: 'gpu.lost', severity: 'fail', what: 'it is lost', next: 'reboot' } as const;
  const probe = (...findings: Checkup['findings']): Checkup => ({
    verdict: { state: 'failed', cause: 'x', next: 'x' },
    findings,
  });

  test.each<[string, HostView, string, readonly string[]]>([
    ['is unknown', unread(), 'unknown', ['facts.incomplete']],
    [
      'with a warning of a probe too',
      { ...unread(), probe: probe(hot) },
      'unknown',
      ['facts.incomplete', 'gpu.hot'],
    ],
    [
      'with a fault of a probe too',
      { ...unread(), probe: probe(lost) },
      'unknown',
      ['facts.incomplete', 'gpu.lost'],
    ],
    [
      'is failed if something is missing',
      unread({ docker: { active: false } }),
      'failed',
      ['docker.down', 'facts.incomplete'],
    ],
  ])('%s', (_, view, state, codes) => {
    const { verdict, findings, waiting, oldest } = judge(view);
    expect(verdict.state).toBe(state);
    expect(verdict).not.toHaveProperty('note');
    expect(findings.map(({ code }) => code)).toEqual(codes);
    expect([waiting, oldest]).toEqual([[], { source: 'facts', ageS: 0 }]);
  });
});

describe('a slot that waits', () => {
  const waiting = [slot('0', { state: 'waiting', code: 'azure.unreachable', cause: 'no pool' }), slot('1')];
  const codes = (difference: Partial<ManagerStatus>) =>
    judge(withStatus({ slots: waiting, ...difference })).findings.map(({ code }) => code);

  test('has no finding beside one of the host, which it may wait for', () => {
    expect(codes({ problems: [away] })).toEqual(['azure.unreachable']);
    expect(codes({ image: { state: 'failed', cause: 'no base' } })).toEqual(['image.failed']);
  });

  test('has one on a host without any', () => {
    expect(codes({})).toEqual(['agents.waiting']);
  });
});

test('only drains of users are notes', () => {
  const at = '2026-11-20T09:30:00Z';
  const slots = [slot('0', drained), slot('1', drained)];
  const note = (...drains: ManagerStatus['drains']) =>
    judge(withStatus({ drained: true, drains, slots })).verdict.note;
  expect(note({ reason: 'restart', at, run: 'r' })).toBeUndefined();
  expect(note({ reason: 'restart', at, run: 'r' }, { slot: '0', reason: 'fan', at })).toBe(
    'slot 0 drained: fan, since 2026-11-20 09:30 UTC',
  );
  expect(judge(hostView(facts({ status: undefined }))).verdict).not.toHaveProperty('note');
});

describe('what the manager says about itself', () => {
  const whats = (view: HostView) => judge(view).findings.map(({ what }) => what);
  const image = (difference: Partial<ManagerStatus['images'][number]>): HostView =>
    withStatus({ image: { state: 'failed', reference: 'train:7', ...difference } });

  test.each<[string, HostView, readonly string[]]>([
    ['its only image has no name', image({ cause: 'no base' }), ['the agent image failed: no base']],
    ['no reason', image({}), ['the agent image failed: no reason given']],
    [
      'an image before it is in use',
      image({ cause: 'no base', digest: 'sha256:1' }),
      ['the agent image failed: no base; agents continue with the previous one'],
    ],
    ['a pull', image({ state: 'pulling' }), ['the agent image is being pulled']],
    ['progress', image({ state: 'pulling', progress: '3 MB' }), ['the agent image is being pulled (3 MB)']],
    [
      'one of several without a name',
      withStatus({
        images: [
          { state: 'ready', slots: ['0'] },
          { state: 'missing', slots: ['1'] },
        ],
      }),
      ['the agent image is missing'],
    ],
    [
      'one of several with a name',
      withStatus({
        images: [
          { state: 'ready', slots: ['0'] },
          { state: 'missing', reference: 'train:7', slots: ['1'] },
        ],
      }),
      ['the agent image train:7 is missing'],
    ],
  ])('%s', (_, view, expected) => {
    expect(whats(view)).toEqual(expected);
  });

  test('the next action of an image that failed leads to its log', () => {
    expect(judge(image({})).verdict.next).toContain('azp-fleet image which h200-1');
    expect(judge(image({ state: 'pulling' })).verdict.next).not.toContain('image which');
  });

  test('another release is a finding beside its problems, and a failure if its report cannot be read', () => {
    const newer = { version: '0.4.0', protocol: 9 };
    const found = (view: HostView) => judge(view).findings.map(({ code, severity }) => [code, severity]);
    expect(found(hostView(facts({ release: newer, status: status({ problems: [refused] }) })))).toEqual([
      ['azure.auth', 'fail'],
      ['manager.release', 'warn'],
    ]);
    const unreadable = hostView(facts({ release: newer, status: undefined }));
    expect(found(unreadable)).toEqual([['manager.release', 'fail']]);
    expect(judge(unreadable).findings[0]?.next).toBe('update azp-fleet on this machine to 0.4.0');
    expect(found(hostView(facts({ release: ourRelease })))).toEqual([]);
  });

  test('its report is from the future', () => {
    expect(whats(hostView(facts(), { now: now - 6 * 60_000 }))).toContain(
      'the manager’s last report is 6 min in the future',
    );
  });

  test('its configuration is not compared with a file that could not be read', () => {
    const unknown = [{ fact: 'files', why: 'no answer in 5 s' }];
    expect(judge(hostView(facts({}, { unknown }))).findings.map(({ code }) => code)).toEqual([
      'facts.incomplete',
    ]);
  });
});

test('jobs from before the last change are a remark only while there are any', () => {
  const codes = (difference: Partial<ManagerStatus>) =>
    judge(withStatus(difference)).findings.map(({ code, severity }) => [code, severity]);
  expect(codes({})).toEqual([]);
  expect(codes({ slots: [slot('0', { state: 'busy', run: before }), slot('1')] })).toEqual([
    ['agents.older-job', 'info'],
  ]);
});

test('the proof counts a problem that has just begun, and status does not', () => {
  const view = withStatus({ problems: [{ ...away, since: new Date(now).toISOString() }] });
  expect(judge(view).verdict.state).toBe('failed');
  expect(judge({ ...view, hidesYoung: true }).verdict.state).toBe('healthy');
});

describe('problems that may end without a fix', () => {
  test.each<[string, HostView, readonly [string, string, boolean][]]>([
    ['none on a healthy host', hostView(facts()), []],
    [
      'none that only a user can fix',
      withStatus({ problems: [refused], slots: [slot('0', held), slot('1', drained)] }),
      [],
    ],
    ['none without a manager', hostView(facts({ current: undefined })), []],
    [
      'an agent that starts',
      withStatus({ slots: [slot('0', starting), slot('1')] }),
      [['h200-1-0', 'is still starting', false]],
    ],
    ['a server that does not answer', withStatus({ problems: [away] }), [['the manager', 'no answer', true]]],
    [
      'an image that is built',
      withStatus({ image: { state: 'building', progress: '3/9' } }),
      [['the manager', 'the agent image is being built (3/9)', true]],
    ],
    ['not an image that failed', withStatus({ image: { state: 'failed', cause: 'no base' } }), []],
    [
      'a manager that has not reported',
      hostView(facts({ status: undefined })),
      [['the manager', 'has not reported yet', true]],
    ],
    [
      'a manager that restarts',
      hostView(facts({}, { files: { [HostPaths.config]: 'y' } })),
      [['the manager', 'the manager runs with the configuration before the last change', true]],
    ],
    [
      'a manager that has no slots yet',
      withStatus({ slots: [] }),
      [['the manager', 'the manager has no slots, so no agent of this host takes jobs', true]],
    ],
    [
      'not the end of a job',
      withStatus({ slots: [slot('0', { state: 'busy', run: before }), slot('1')] }),
      [],
    ],
  ])('%s', (_, seen, expected) => {
    expect(judge(seen).waiting.map(({ who, why, reported }) => [who, why, reported])).toEqual(expected);
  });

  test('are findings after the wait', () => {
    const seen = withStatus({ slots: [slot('0', starting), slot('1')] });
    expect(judge(seen).verdict).toMatchObject(healthy);
    expect(judge({ ...seen, waited: true }).verdict).toMatchObject({
      state: 'degraded',
      cause: 'h200-1-0: is still starting',
    });
  });
});

test('a degraded host lists its troubles by code and subject, without info findings', () => {
  const health = (...findings: ManagerStatus['health']['findings']) =>
    judge(withStatus({ health: { state: 'degraded', checkedAt: '2026-11-20T10:00:00Z', findings } })).verdict;
  const hot = { code: 'gpu.hot', gpu: 'GPU-1', severity: 'warn', what: 'hot', next: 'cool it' } as const;
  const loose = { code: 'gpu.power-cable', severity: 'warn', what: 'loose', next: 'fix it' } as const;
  const remark = { code: 'xid.31', gpu: 'GPU-1', severity: 'info', what: 'a fault', next: 'look' } as const;
  expect(health(hot, remark, loose).troubles).toEqual([
    { code: 'gpu.hot', on: 'GPU-1' },
    { code: 'gpu.power-cable' },
  ]);
  expect(health(remark).troubles).toBeUndefined();
});
