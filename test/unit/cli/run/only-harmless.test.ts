// A run with --only-harmless on hosts: no drain, exactly the shown changes, and what is left afterwards.
import { describe, expect, it, test } from 'vitest';

import { Options } from '../../../../src/cli/options.ts';
import { HarmlessPlans, leftJson, refuseWithOnlyHarmless } from '../../../../src/cli/run/only-harmless.ts';
import { finishHost } from '../../../../src/fleet/apply/apply-host.ts';
import type { FleetSurvey } from '../../../../src/fleet/apply/fleet-survey.ts';
import type { Change, Shape } from '../../../../src/fleet/steps/change.ts';
import type { Drain } from '../../../../src/shared/contract/drain.ts';
import { done, host, left as leftDrain } from '../../fleet/apply/drained-host.ts';
import type { FakeHost } from '../../fleet/apply/fake-fleet.ts';
import { change, shape } from '../../fleet/plan/changes.ts';

function surveyOf(fake: FakeHost, plans: HarmlessPlans): FleetSurvey {
  const pools = { changes: [], blocked: new Map() };
  const hosts = [fake.survey(plans.tools)];
  return { hosts, failures: [], pools, held: [], agentsIn: () => undefined, lackedRights: [] };
}

/** Plans a host, and applies the harmless part. `meanwhile`: called before it is applied. */
async function run(
  desired: readonly (Change | Shape)[],
  { drains = [], meanwhile }: { drains?: readonly Drain[]; meanwhile?: (fake: FakeHost) => void } = {},
) {
  const fake = await host([...desired], drains);
  const plans = new HarmlessPlans(fake.tools());
  const { hosts } = plans.announce(surveyOf(fake, plans));
  const [survey] = hosts;
  if (survey === undefined) throw new Error('no host');
  meanwhile?.(fake);
  const outcome = await finishHost(survey, plans.tools, { exactFacts: false, onlyHarmless: true });
  return { outcome, fake, left: plans.left };
}

const restart = change('restart', { disturbs: 'containers' });
const titles = (left: HarmlessPlans['left']) =>
  left.flatMap(({ changes }) => changes.map(({ title }) => title));

describe('a run', () => {
  it('makes the changes that disturb nothing, without a drain', async () => {
    const { outcome, fake, left } = await run([change('a'), change('b')]);
    expect(outcome).toEqual({ host: 'h200-1', state: 'changed', changes: 2 });
    expect(done(fake)).toEqual(['lock', 'a', 'b', 'unlock']);
    expect(left).toEqual([]);
  });

  it('does not even lock a host whose changes disturb', async () => {
    const { outcome, fake, left } = await run([restart, change('b')]);
    expect(outcome).toEqual({ host: 'h200-1', state: 'ok', changes: 0 });
    expect(done(fake)).toEqual([]);
    expect(leftJson(left)).toEqual([
      {
        host: 'h200-1',
        changes: [
          { step: 'docker', title: 'do restart', disturbs: 'containers', isKnown: true },
          { step: 'docker', title: 'do b', disturbs: 'nothing', isKnown: true },
        ],
      },
    ]);
  });

  it('leaves what became known by its changes, also if it would disturb nothing', async () => {
    const becomes = (later: Change) => (fake: FakeHost) => {
      fake.onRun = () => void (fake.pending = [change('a'), later]);
    };
    for (const later of [restart, change('c')]) {
      const { outcome, fake, left } = await run([change('a'), shape('manager')], {
        meanwhile: becomes(later),
      });
      expect(outcome).toMatchObject({ state: 'changed', changes: 1 });
      expect(done(fake)).toEqual(['lock', 'a', 'unlock']);
      expect(titles(left)).toEqual([later.title]);
    }
  });

  it('leaves a host on which something disturbs since the plan was shown', async () => {
    const { outcome, fake, left } = await run([change('a')], {
      meanwhile: (fake) => void (fake.pending = [restart, change('a')]),
    });
    expect(outcome).toMatchObject({ state: 'ok', changes: 0 });
    expect(done(fake)).toEqual(['lock', 'unlock']);
    expect(titles(left)).toEqual(['do restart', 'do a']);
  });

  it('leaves a host that an interrupted run left drained: not drained again, not enabled', async () => {
    const { outcome, fake, left } = await run([change('a')], { drains: [leftDrain] });
    expect(outcome).toEqual({ host: 'h200-1', state: 'ok', changes: 0 });
    expect(done(fake)).toEqual([]);
    expect(titles(left)).toEqual(['do a']);
  });

  it('leaves it, too, if it is found only under the lock', async () => {
    const { fake } = await run([change('a')], {
      meanwhile: (fake) => {
        if (fake.status !== undefined) fake.status = { ...fake.status, drains: [leftDrain] };
        const { facts } = fake;
        fake.facts = { ...facts, manager: { ...facts.manager, ...(fake.status && { status: fake.status }) } };
      },
    });
    expect(done(fake)).toEqual(['lock', 'unlock']);
  });
});

test('agent names that another machine holds are left, and no other change to Azure DevOps', async () => {
  const fake = await host([]);
  const plans = new HarmlessPlans(fake.tools());
  const survey = surveyOf(fake, plans);
  const change = (kind: 'create-pool' | 'take-over') => ({
    id: kind,
    title: kind,
    why: 'x',
    action: { kind, pool: 'gpu-lab', host: 'h200-1', slots: ['0'] },
  });
  const changes = [change('create-pool'), change('take-over')];
  const { pools } = plans.announce({ ...survey, pools: { ...survey.pools, changes } });
  expect(pools.changes.map(({ id }) => id)).toEqual(['create-pool']);
  expect(titles(plans.left)).toEqual(['take-over']);
});

test.each<[string, Record<string, unknown>, string | undefined]>([
  ['--plan', { plan: 'x.json' }, '--plan'],
  ['--out', { out: 'x.json' }, '--out'],
  ['--adopt', { adopt: true }, '--adopt'],
  ['--disturb-others', { disturbOthers: true }, '--disturb-others'],
  ['--bundle', { bundle: 'x' }, undefined],
])('%s beside --only-harmless', (_, given, refused) => {
  const check = () => refuseWithOnlyHarmless(new Options({ onlyHarmless: true, ...given }));
  if (refused === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(`--only-harmless and ${refused} contradict each other`);
});
