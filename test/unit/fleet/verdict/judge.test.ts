// The host as a whole: what is the cause, what counts as failed, and what may become well by waiting.
import { describe, expect, test } from 'vitest';

import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Checkup } from '../../../../src/shared/health/checkup.ts';
import { judge } from '../../../../src/fleet/verdict/judge.ts';
import type { Sight } from '../../../../src/fleet/verdict/sight.ts';
import { agent, facts, now, pool, slot, status } from '../status/look.ts';

const sight = (seen: Facts, difference: Partial<Sight> = {}): Sight => ({
  facts: seen,
  agentsIn: () => pool,
  now,
  ...difference,
});
const withStatus = (difference: Partial<ManagerStatus>): Sight =>
  sight(facts({ status: status(difference) }));
const well = { state: 'healthy', cause: '', next: '' };

const held = {
  state: 'backing-off',
  code: 'agent.name-held',
  cause: 'the name is held',
  next: 'adopt',
} as const;
const starting = { state: 'starting', since: '2026-11-20T09:59:45Z' } as const;
const drained = { state: 'drained', code: 'drained' } as const;
const before = { id: 'r0', startedAt: '2026-11-20T08:00:00Z', agentId: 1, settings: 'before' };
const refused = { code: 'azure.auth', what: 'the token is not accepted', next: 'replace it' };
const away = { code: 'azure.unreachable', what: 'no answer', next: 'look at the network' };

describe('the verdict', () => {
  test.each<[string, Sight, object]>([
    ['all well', sight(facts()), well],
    [
      'no slot at all: nobody takes jobs here',
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
      'one is, and nobody wants the other',
      withStatus({ slots: [slot('0', held), slot('1', drained)] }),
      { state: 'failed' },
    ],
    [
      'one is, the other is on its way',
      withStatus({ slots: [slot('0', held), slot('1', starting)] }),
      { state: 'degraded' },
    ],
    [
      'different causes',
      withStatus({ slots: [slot('0', held), slot('1', { ...held, cause: 'another' })] }),
      { state: 'failed', cause: 'h200-1-0: the name is held (and 1 more)' },
    ],
    [
      'who is named by the cause is named once',
      withStatus({
        slots: [slot('0', { ...held, cause: 'agent h200-1-0 belongs to another installation' }), slot('1')],
      }),
      { cause: 'agent h200-1-0 belongs to another installation' },
    ],
    [
      'all disabled by hand',
      sight(facts(), {
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
      'what waits for that problem is told by it',
      withStatus({ problems: [away], slots: [slot('0', { state: 'waiting', cause: 'no pool' }), slot('1')] }),
      { cause: 'no answer', next: 'look at the network' },
    ],
    [
      'an older configuration',
      sight(facts({}, { files: { [HostPaths.config]: 'y' } })),
      { state: 'failed', cause: 'the manager runs with the configuration before the last change' },
    ],
    ['the present one', sight(facts({}, { files: { [HostPaths.config]: 'x' } })), well],
    [
      'kept from work by a run',
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
      'by a person',
      withStatus({
        drained: true,
        drains: [{ reason: 'fan', at: '2026-11-20T09:30:00Z' }],
        slots: [slot('0', drained), slot('1', drained)],
      }),
      well,
    ],
    [
      'on jobs from before',
      withStatus({
        slots: [
          slot('0', { state: 'busy', run: before, job: 'train' }),
          slot('1', { state: 'busy', run: before }),
        ],
      }),
      { ...well, note: 'running a job from before the last change: h200-1-0 (train), h200-1-1' },
    ],
    [
      'no report for long',
      sight(facts(), { now: now + 6 * 60_000 }),
      { state: 'unknown', cause: 'the manager’s last report is 6 min old' },
    ],
    ['a report of no time', withStatus({ at: 'noon' }), { state: 'unknown' }],
    [
      'not provisioned',
      sight(facts({ current: undefined })),
      { state: 'failed', cause: 'the host is not provisioned: it has no manager' },
    ],
  ])('%s', (_, seen, expected) => {
    expect(judge(seen).verdict).toMatchObject(expected);
  });

  test('an older manager: both work, and nobody can tell', () => {
    const { run: _, settings: __, ...old } = slot('0');
    const { verdict } = judge(withStatus({ slots: [old, { ...old, slot: '1', agent: 'h200-1-1' }] }));
    expect(verdict).toEqual({
      state: 'degraded',
      cause:
        'h200-1-0, h200-1-1: cannot tell whether the present configuration is in effect: the manager (0.2.0) does not say what its agents were made from',
      next: 'run `azp-fleet provision`, which brings the manager to the version of this program',
      troubles: ['h200-1-0', 'h200-1-1'].map((on) => ({ code: 'agents.untold', on })),
    });
  });

  test('a GPU that a fresh probe has found comes before agents that wait for it', () => {
    const finding = { code: 'gpu.lost', severity: 'fail', what: 'it is lost', next: 'reboot' } as const;
    const probe: Checkup = {
      verdict: { state: 'failed', cause: 'it is lost', next: 'reboot' },
      findings: [finding],
    };
    const slots = ['0', '1'].map((name) => slot(name, { state: 'quarantined', cause: 'GPU: it is lost' }));
    expect(judge({ ...withStatus({ slots }), probe }).verdict.cause).toBe('it is lost (and 1 more)');
  });
});

describe('what may become well by itself', () => {
  test.each<[string, Sight, readonly [string, string, boolean][]]>([
    ['nothing where all is well', sight(facts()), []],
    [
      'nor where only a person helps',
      withStatus({ problems: [refused], slots: [slot('0', held), slot('1', drained)] }),
      [],
    ],
    ['nor without a manager', sight(facts({ current: undefined })), []],
    [
      'an agent on its way',
      withStatus({ slots: [slot('0', starting), slot('1')] }),
      [['h200-1-0', 'is still starting', false]],
    ],
    ['a server that is away', withStatus({ problems: [away] }), [['the manager', 'no answer', true]]],
    [
      'an image',
      withStatus({ image: { state: 'building', progress: '3/9' } }),
      [['the manager', 'the agent image is being built (3/9)', true]],
    ],
    ['not one that failed', withStatus({ image: { state: 'failed', cause: 'no base' } }), []],
    [
      'a manager that has not spoken',
      sight(facts({ status: undefined })),
      [['the manager', 'has not reported yet', true]],
    ],
    [
      'one that restarts',
      sight(facts({}, { files: { [HostPaths.config]: 'y' } })),
      [['the manager', 'the manager runs with the configuration before the last change', true]],
    ],
    [
      'not the end of a job',
      withStatus({ slots: [slot('0', { state: 'busy', run: before }), slot('1')] }),
      [],
    ],
  ])('%s', (_, seen, expected) => {
    expect(judge(seen).waiting.map(({ who, why, told }) => [who, why, told])).toEqual(expected);
  });

  test('who has waited long enough is told of it', () => {
    const seen = withStatus({ slots: [slot('0', starting), slot('1')] });
    expect(judge(seen).verdict).toMatchObject(well);
    expect(judge({ ...seen, waited: true }).verdict).toMatchObject({
      state: 'degraded',
      cause: 'h200-1-0: is still starting',
    });
  });
});

test('what degrades a host is told by code and by whom it is about; remarks are no trouble', () => {
  const health = (...findings: ManagerStatus['health']['findings']) =>
    judge(withStatus({ health: { state: 'degraded', findings } })).verdict;
  const hot = { code: 'gpu.hot', gpu: 'GPU-1', severity: 'warn', what: 'hot', next: 'cool it' } as const;
  const loose = { code: 'gpu.power-cable', severity: 'warn', what: 'loose', next: 'fix it' } as const;
  const remark = { code: 'xid.31', gpu: 'GPU-1', severity: 'info', what: 'a fault', next: 'look' } as const;
  expect(health(hot, remark, loose).troubles).toEqual([
    { code: 'gpu.hot', on: 'GPU-1' },
    { code: 'gpu.power-cable' },
  ]);
  expect(health(remark).troubles).toBeUndefined();
});
