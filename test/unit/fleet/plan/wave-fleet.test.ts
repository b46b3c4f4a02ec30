import { describe, expect, it } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { planOf } from '../../../../src/fleet/plan/plan.ts';
import {
  type Found,
  hasAgents,
  leftDrained,
  rebootedSinceDrain,
  takesJobs,
  waveFleet,
} from '../../../../src/fleet/plan/wave-fleet.ts';
import { planWaves } from '../../../../src/fleet/plan/waves.ts';
import { type Change, refusal, type Shape } from '../../../../src/fleet/steps/change.ts';
import type { Problem } from '../../../../src/shared/base/errors.ts';
import type { Drain } from '../../../../src/shared/contract/drain.ts';
import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change, shape } from './changes.ts';

const at = '2026-11-21T12:00:00Z';
const left: Drain = { reason: 'driver', at, owner: 'ann@laptop', run: 'run-0' };

function slots(...states: SlotStatus['state'][]): readonly SlotStatus[] {
  return states.map((state, index) => ({
    slot: String(index),
    agent: `h-${index}`,
    state,
    gpus: [],
    pool: 'gpu-lab',
    since: at,
    jobsRun: 0,
  }));
}

function served(status: Partial<ManagerStatus> | undefined, unitActive = 'active'): Facts {
  const manager = { current: '1', unitActive, ...(status && { status: managerStatus(status) }) };
  return factsOf({ manager });
}

describe('a host', () => {
  it.each<[string, Facts, { hasAgents: boolean; takesJobs: boolean }]>([
    ['that is bare', factsOf(), { hasAgents: false, takesJobs: false }],
    ['at work', served({ slots: slots('busy', 'idle') }), { hasAgents: true, takesJobs: true }],
    [
      'with one slot left',
      served({ slots: slots('quarantined', 'idle') }),
      { hasAgents: true, takesJobs: true },
    ],
    [
      'that a user drained',
      served({ slots: slots('drained', 'drained') }),
      { hasAgents: false, takesJobs: false },
    ],
    [
      'whose GPUs are all broken',
      served({ slots: slots('quarantined') }),
      { hasAgents: false, takesJobs: false },
    ],
    ['that backs off', served({ slots: slots('backing-off') }), { hasAgents: true, takesJobs: false }],
    [
      'whose manager was stopped',
      served({ slots: slots('idle') }, 'inactive'),
      { hasAgents: false, takesJobs: false },
    ],
    ['whose manager cannot be read', served(undefined), { hasAgents: true, takesJobs: true }],
    [
      'whose unit cannot be read',
      factsOf({ unknown: [{ fact: 'manager', why: 'no answer in 5 s' }] }),
      { hasAgents: true, takesJobs: false },
    ],
    ['with unknown slots', served({ slots: [] }), { hasAgents: true, takesJobs: false }],
    [
      'that cannot reach Azure DevOps',
      served({ slots: slots('backing-off'), pools: [{ name: 'gpu-lab', up: false }] }),
      { hasAgents: true, takesJobs: true },
    ],
    [
      'that an interrupted run left drained',
      served({ slots: slots('drained'), drains: [left] }),
      { hasAgents: true, takesJobs: false },
    ],
  ])('%s', (_, facts, expected) => {
    expect({ hasAgents: hasAgents(facts, 'provision'), takesJobs: takesJobs(facts) }).toEqual(expected);
  });

  it('that a user drained is not left drained by a run', () => {
    const { run: _, ...personal } = left;
    expect(leftDrained(served({ drains: [personal] }), 'provision')).toBe(false);
    expect(leftDrained(served({ drains: [personal, left] }), 'provision')).toBe(true);
  });

  it('that an interrupted run of another command left drained is not resumed', () => {
    const byReboot = served({ slots: slots('drained'), drains: [{ ...left, command: 'reboot' }] });
    expect([leftDrained(byReboot, 'provision'), leftDrained(byReboot, 'reboot')]).toEqual([false, true]);
    expect([hasAgents(byReboot, 'provision'), hasAgents(byReboot, 'reboot')]).toEqual([false, true]);
    const byProvision = served({ drains: [{ ...left, command: 'provision' }], at: '2026-11-21T12:05:00Z' });
    expect(rebootedSinceDrain({ ...byProvision, uptimeS: 60 })).toBe(false);
  });

  it.each([
    ['booted after the drain', 60, true],
    ['booted before it', 600, false],
    ['has no boot time', undefined, false],
  ] as const)('that %s', (_, uptimeS, expected) => {
    const facts = served({ at: '2026-11-21T12:05:00Z', drains: [left] });
    expect(rebootedSinceDrain({ ...facts, uptimeS })).toBe(expected);
  });
});

const driver = change('driver', { step: 'driver', disturbs: 'machine' });
const atWork = { slots: slots('idle') };

interface Given {
  readonly spec?: Partial<HostSpec>;
  readonly facts?: Facts;
  readonly changes?: readonly (Change | Shape)[];
  readonly unread?: boolean;
  readonly unselected?: boolean;
  readonly refused?: boolean;
}

function found(
  given: Readonly<Record<string, Given>>,
  unprovable: Found['unprovable'] = () => undefined,
  more: Pick<Found, 'everyChange'> = {},
) {
  const all = Object.entries(given).map(([name, each]) => {
    const host = desiredOf({ name, ...each.spec }).host;
    const facts = each.facts ?? served(atWork);
    const said = each.refused === true ? [refusal('docker', 'no', 'try')] : [];
    const plan = planOf(facts, name, [...(each.changes ?? [driver]), ...said], false);
    return { host, facts, plan, ...each };
  });
  return waveFleet({
    hosts: all.map(({ host }) => host),
    seen: all.filter(({ unread, unselected }) => unread !== true && unselected !== true),
    unread: all.filter(({ unread }) => unread === true).map(({ host }) => host.name),
    unprovable,
    command: 'provision',
    ...more,
  });
}
const pendingIn = (given: Readonly<Record<string, Given>>) => found(given).pending.map(({ host }) => host);

describe('the fleet of a run', () => {
  it('has exactly the hosts whose agents are drained as pending', () => {
    expect(
      pendingIn({
        driver: {},
        docker: { changes: [change('docker', { disturbs: 'containers' })] },
        perhaps: { changes: [shape('toolkit', 'containers')] },
        config: { changes: [change('config', { step: 'manager' })] },
        engine: { changes: [change('live', { disturbs: 'new-containers' })] },
        bare: { facts: factsOf() },
        drained: { facts: served({ slots: slots('drained') }) },
        unchanged: { changes: [] },
        refused: { refused: true },
      }),
    ).toEqual(['driver', 'docker', 'perhaps']);
  });

  it('has every host with changes as pending, drained or not, where the run says so', () => {
    const given = {
      config: { changes: [change('config', { step: 'manager' })] },
      drained: { facts: served({ slots: slots('drained') }) },
      unchanged: { changes: [] },
      refused: { refused: true },
    };
    const { pending } = found(given, () => undefined, { everyChange: true });
    expect(pending.map(({ host }) => host)).toEqual(['config', 'drained']);
  });

  it('puts hosts that an interrupted run left drained first, and proves those without changes', () => {
    const cutOff = served({ slots: slots('drained'), drains: [left] });
    const fleet = found({ fresh: {}, half: { facts: cutOff }, done: { facts: cutOff, changes: [] } });
    expect(fleet.pending.map(({ host }) => host)).toEqual(['half', 'fresh']);
    expect(fleet.unproven).toEqual(['done']);
    expect([...fleet.down]).toEqual(['half', 'done']);
  });

  it('counts unreadable hosts and hosts that take no jobs as down, unselected hosts as available, new hosts not at all', () => {
    const fleet = found({
      up: {},
      unread: { unread: true },
      stopped: { facts: served(atWork, 'inactive') },
      elsewhere: { unselected: true },
      bare: { facts: factsOf() },
    });
    expect([...fleet.down]).toEqual(['stopped', 'unread']);
    expect([...fleet.recovering]).toEqual(['stopped']);
    expect(Object.fromEntries(fleet.pools)).toEqual({ 'gpu-lab': ['up', 'unread', 'stopped', 'elsewhere'] });
  });

  it('counts hosts with an active, unreadable manager against the limit', () => {
    const names = Array.from({ length: 8 }, (_, index) => `h${index}`);
    const fleet = found(Object.fromEntries(names.map((name) => [name, { facts: served(undefined) }])));
    const sizes = planWaves(fleet, defaultWaves)?.waves.map(({ hosts }) => hosts.length);
    expect(sizes).toEqual([1, 2, 2, 2, 1]);
  });

  it('knows hosts of several pools, pools in another case, and pools that hosts are moved between', () => {
    const fleet = found({
      both: {
        spec: {
          agents: {
            kind: 'slots',
            slots: [
              { gpus: [0], share: false, limits: {}, capabilities: [], mode: 'container', pool: 'big' },
              { gpus: [1], share: false, limits: {}, capabilities: [], mode: 'container' },
            ],
          },
        },
      },
      shouted: { spec: { pool: 'GPU-LAB' } },
      moved: {
        spec: { pool: 'big' },
        facts: served({ ...atWork, pools: [{ name: 'old', up: true }], pool: { name: 'old' } }),
      },
      pattern: { spec: { pool: 'gpu-{generation}' }, unread: true },
    });
    expect(Object.fromEntries(fleet.pools)).toEqual({
      'gpu-lab': ['both', 'shouted', 'pattern'],
      big: ['both', 'moved'],
      old: ['moved'],
    });
  });

  it('has one kind for each system, GPU type and set of steps', () => {
    const gpus = [{ address: '0000:01:00.0', deviceId: '26b9', boundTo: undefined }];
    const facts = served(atWork);
    const kinds = found({
      a: {},
      none: { facts: { ...facts, gpus: [] } },
      unread: { facts: { ...facts, gpus: [], unknown: [{ fact: 'gpus', why: 'no answer in 5 s' }] } },
      same: {},
      gpu: { facts: { ...facts, gpus } },
      system: { facts: { ...facts, os: { ...facts.os, versionId: '13' } } },
      docker: { changes: [change('docker', { disturbs: 'containers' })] },
    }).pending.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === kinds[0])).toHaveLength(2);
    expect(new Set(kinds).size).toBe(6);
  });

  it('drains no host that cannot be proven afterwards', () => {
    const problem: Problem = {
      code: 'azure.permission',
      what: 'the pool gpu-lab may not be seen',
      next: 'ask its owner',
    };
    const fleet = found({ a: {}, bare: { facts: factsOf() } }, () => problem);
    expect(fleet.pending).toEqual([]);
    expect(fleet.barred).toEqual([{ host: 'a', what: problem.what, next: problem.next }]);
  });
});
