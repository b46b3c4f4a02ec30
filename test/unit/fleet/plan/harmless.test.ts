// The part of a plan that disturbs nothing, and needs nothing that disturbs.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import type { HostPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import { harmlessPart, isHarmlessInAzure } from '../../../../src/fleet/plan/harmless.ts';
import { planOf } from '../../../../src/fleet/plan/plan.ts';
import type { FleetChange } from '../../../../src/fleet/plan/pools.ts';
import type { Change, Disturbs, Shape, StepName } from '../../../../src/fleet/steps/change.ts';
import type { Drain } from '../../../../src/shared/contract/drain.ts';
import { factsOf, merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change, shape } from './changes.ts';

const facts = factsOf();
const others: readonly Disturbs[] = ['new-containers', 'agents', 'containers', 'gpus', 'machine'];

function planned(...found: readonly (Change | Shape)[]): HostPlan {
  return planOf(facts, 'h200-1', found, true);
}

/** Formats a part as `a b | c`: what is applied, and what is left. */
function line(whole: HostPlan, announced?: HostPlan, seen = facts): string {
  const { plan, left } = harmlessPart(whole, seen, announced);
  const names = (changes: readonly (Change | Shape)[]) =>
    changes.map((each) => (each.kind === 'change' ? each.id : `${each.step}?`)).join(' ');
  return `${names(plan.stages.flat())} | ${names(left)}`;
}

const [a, b, c] = [change('a'), change('b', { step: 'manager' }), change('c', { step: 'manager' })];
const restart = change('restart', { disturbs: 'new-containers' });
const reboot = change('reboot', { reboot: true, disturbs: 'machine' });

describe('of a plan are applied', () => {
  it.each<[string, readonly (Change | Shape)[], string]>([
    ['nothing of nothing', [], ' | '],
    ['all changes that disturb nothing', [a, b], 'a b | '],
    ['none beside a restart of dockerd, before it or after it', [a, restart, b], ' | a restart b'],
    ['none before a reboot, which may be what they prepare', [a, reboot, b], ' | a reboot b'],
    ['those before a change that is not known yet', [a, shape('manager'), b], 'a | manager? b'],
    ['none after one that only waits', [{ ...shape('manager'), waits: true }, b], ' | manager? b'],
    ['those before a later stage that disturbs', [a, shape('docker', 'containers'), b], 'a | docker? b'],
  ])('%s', (_, found, expected) => {
    expect(line(planned(...found))).toBe(expected);
  });

  it.each(others)('none with one that disturbs %s', (disturbs) => {
    expect(line(planned(a, change('x', { disturbs })))).toBe(' | a x');
  });

  it('refusals, which stop the host as without the option', () => {
    const refusals = [{ step: 'driver' as const, what: 'no', next: 'do' }];
    expect(harmlessPart({ ...planned(a), refusals }, facts).plan.refusals).toEqual(refusals);
  });
});

describe('once the part was shown', () => {
  it.each<[string, readonly (Change | Shape)[], readonly (Change | Shape)[], string]>([
    ['it is applied', [a, b], [a, b], 'a b | '],
    ['what is needed no longer is not', [a, b], [b], 'b | '],
    ['what became known by it is left', [a], [b, c], ' | b c'],
    ['a stage with a new change is left whole', [a], [a, b], ' | a b'],
    ['what disturbs now is left', [a], [{ ...a, disturbs: 'containers' }], ' | a'],
  ])('%s', (_, announced, now, expected) => {
    expect(line(planned(...now), planned(...announced))).toBe(expected);
  });

  it('a new wait for the manager, which has restarted, is dropped and leaves nothing', () => {
    const actions = [{ kind: 'await-manager', configHash: 'x', timeoutS: 60 }] as const;
    expect(line(planned(a, { ...b, actions }), planned(a))).toBe('a | ');
  });
});

describe('a host that an interrupted run left drained', () => {
  const drained = (drain: Partial<Drain>) => {
    const drains = [{ reason: 'driver', at: '2026-11-21T12:00:00Z', run: 'run-0', ...drain }];
    return merge(facts, { manager: { unitActive: 'active', status: managerStatus({ drains }) } });
  };

  it.each<[string, Partial<Drain>, string]>([
    ['of this command is left: it would be drained to be proven', {}, ' | a'],
    ['of another command is applied, and stays drained', { command: 'reboot' }, 'a | '],
  ])('%s', (_, drain, expected) => {
    expect(line(planned(a), undefined, drained(drain))).toBe(expected);
  });
});

const steps: readonly StepName[] = ['driver', 'docker', 'toolkit', 'image', 'manager'];
const items = fc
  .array(
    fc.record({
      step: fc.constantFrom(...steps),
      disturbs: fc.constantFrom<Disturbs>('nothing', 'nothing', 'nothing', ...others),
      isShape: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((all) =>
    all.map(({ step, disturbs, isShape }, index) =>
      isShape ? shape(step, disturbs) : change(`c${index}`, { step, disturbs }),
    ),
  );

test('it never contains a change that disturbs, or one behind a change that is left', () => {
  fc.assert(
    fc.property(items, fc.option(items, { nil: undefined }), (now, announced) => {
      const whole = planned(...now);
      const shown = announced && harmlessPart(planned(...announced), facts).plan;
      const { plan, left } = harmlessPart(whole, facts, shown);
      const applied = plan.stages.flat();
      expect(applied.every((each) => each.kind === 'change' && each.disturbs === 'nothing')).toBe(true);
      expect([...applied, ...left]).toEqual(whole.stages.flat());
      const rest = whole.stages.slice(plan.stages.length);
      // A stage is applied whole or left whole.
      expect(rest.flat()).toEqual(left);
      if (shown !== undefined) {
        const ids = new Set(shown.stages.flat().flatMap((each) => (each.kind === 'change' ? each.id : [])));
        expect(applied.filter((each) => each.kind === 'change' && !ids.has(each.id))).toEqual([]);
      }
    }),
  );
});

test('in Azure DevOps everything is harmless but what disconnects another machine, and what has no name yet', () => {
  const of = (action: FleetChange['action']) => isHarmlessInAzure({ id: 'x', title: 'x', why: 'x', action });
  expect(of({ kind: 'create-pool', pool: 'p' })).toBe(true);
  expect(of({ kind: 'disable-auto-update', pool: 'p' })).toBe(true);
  expect(of({ kind: 'create-queue', pool: 'p', project: 'q' })).toBe(true);
  expect(of({ kind: 'authorize-queue', pool: 'p', project: 'q' })).toBe(true);
  expect(of({ kind: 'take-over', pool: 'p', host: 'h', slots: ['0'] })).toBe(false);
  expect(of({ kind: 'name-later', pattern: '{arch}' })).toBe(false);
});
