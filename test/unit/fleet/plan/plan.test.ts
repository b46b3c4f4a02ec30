import { describe, expect, it } from 'vitest';

import { factsDigest } from '../../../../src/fleet/plan/digest.ts';
import { firstStage, hasChanges, isEmpty, planHost, questionFor } from '../../../../src/fleet/plan/plan.ts';
import { deviations, waitsMet, withoutNewWaits } from '../../../../src/fleet/plan/refine.ts';
import type { FleetPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import type { Answers, Bound } from '../../../../src/fleet/packages/simulation.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import type { Change, Disturbs, Refusal, Shape } from '../../../../src/fleet/steps/change.ts';
import type { Step } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { change, shape } from './changes.ts';

function stepOf(...items: (Change | Shape | Refusal)[]): Step {
  return { name: 'docker', plan: () => items };
}

function planOf(items: (Change | Shape | Refusal)[], facts = factsOf(), disturbOthers = false) {
  return planHost(facts, desiredOf(), { steps: [stepOf(...items)], disturbOthers });
}

describe('stages', () => {
  const known = (items: (Change | Shape)[]) =>
    planOf(items).stages.map((stage) => stage.map((item) => (item.known ? item.id : `? ${item.step}`)));

  it.each<[string, (Change | Shape)[], string[][]]>([
    ['nothing to do', [], []],
    ['known changes run together', [change('a'), change('b')], [['a', 'b']]],
    ['a reboot ends a stage', [change('a'), change('r', { reboot: true }), change('b')], [['a', 'r'], ['b']]],
    ['what is unknown waits for new facts', [change('a'), shape('toolkit')], [['a'], ['? toolkit']]],
    [
      'what follows the unknown stays behind it',
      [change('a'), shape('toolkit'), change('b')],
      [['a'], ['? toolkit'], ['b']],
    ],
  ])('%s', (_name, items, expected) => {
    expect(known(items)).toEqual(expected);
  });

  it('has nothing to run where it begins with the unknown', () => {
    expect(firstStage(planOf([shape('docker')]))).toEqual([]);
    expect(isEmpty(planOf([shape('docker')]))).toBe(false);
  });

  it('has nothing to run where there is nothing', () => {
    expect(firstStage(planOf([]))).toEqual([]);
    expect(isEmpty(planOf([]))).toBe(true);
  });

  it('is not empty where something stands in the way of all', () => {
    const refused = planOf([{ refused: true, step: 'docker', what: 'snap', next: 'remove it' }]);
    expect(isEmpty(refused)).toBe(false);
    expect(refused).toMatchObject({
      stages: [],
      refusals: [{ step: 'docker', what: 'snap', next: 'remove it' }],
    });
  });

  it('leaves what follows a shape out of the stage before, however much is known', () => {
    expect(known([change('a'), change('b'), shape('toolkit'), shape('manager')])).toEqual([
      ['a', 'b'],
      ['? toolkit'],
      ['? manager'],
    ]);
  });
});

describe('a plan of a fleet', () => {
  const nothing = planOf([]);
  const something = planOf([change('a')]);
  const pool = { kind: 'create-pool', pool: 'gpu-lab' } as unknown as FleetPlan['fleet'][number];

  it.each([
    ['nothing anywhere', { fleet: [], hosts: [nothing, nothing] }, false],
    ['no host', { fleet: [], hosts: [] }, false],
    ['one host of two', { fleet: [], hosts: [nothing, something] }, true],
    ['only the server', { fleet: [pool], hosts: [nothing] }, true],
    ['both', { fleet: [pool], hosts: [something] }, true],
  ])('has changes: %s', (_, plan, expected) => {
    expect(hasChanges(plan as unknown as FleetPlan)).toBe(expected);
  });
});

describe('what a package manager is asked', () => {
  const options = { steps: [dockerStep], disturbOthers: false };
  const bare = factsOf({ gpus: [] });
  const known = (answers: Answers) => planHost(bare, desiredOf(), options, { answers, final: false });

  it('is nothing where no package changes', () => {
    expect(questionFor(bare, desiredOf(), { ...options, steps: [stepOf(change('a'))] }, {})).toBeUndefined();
  });

  it('is what would change, until that is answered; the answers stand in the plan', () => {
    const question = questionFor(bare, desiredOf(), options, {});
    const answers = question?.read('') ?? {};
    expect(Object.keys(answers)).toHaveLength(1);
    const settled = Object.fromEntries(
      Object.keys(answers).map((key) => [
        key,
        { kind: 'known', removes: [], installs: [], upgrades: [], downgrades: [], kept: [] } as const,
      ]),
    );
    expect(questionFor(bare, desiredOf(), options, settled)).toBeUndefined();
    expect(known(settled).packages).toEqual(settled);
    expect(known({})).not.toHaveProperty('packages');
    expect(planHost(bare, desiredOf(), options)).not.toHaveProperty('packages');
  });
});

describe("other people's work", () => {
  const others = {
    containers: ['postgres'],
    gpuProcesses: ['python (4711, ann)'],
    logins: ['ann on pts/0'],
  };
  const refusalsFor = (disturbs: Disturbs, disturbOthers = false) =>
    planOf([change('x', { disturbs })], factsOf({ others }), disturbOthers).refusals.map(({ what }) => what);

  it.each<[Disturbs, string[]]>([
    ['nothing', []],
    ['new-containers', []],
    ['containers', ['"do x" would disturb work of others: container postgres']],
    [
      'machine',
      [
        '"do x" would disturb work of others: container postgres; GPU process python (4711, ann); login ann on pts/0',
      ],
    ],
  ])('a change that disturbs %s', (disturbs, expected) => {
    expect(refusalsFor(disturbs)).toEqual(expected);
  });

  it('is counted in words', () => {
    const many = { containers: ['a', 'b'], gpuProcesses: ['c', 'd'], logins: ['e', 'f'] };
    const plan = planOf([change('x', { disturbs: 'machine' })], factsOf({ others: many }));
    expect(plan.refusals[0]?.what).toContain(': containers a, b; GPU processes c, d; logins e, f');
  });

  it('is hurt only where that was asked for', () => {
    expect(refusalsFor('machine', true)).toEqual([]);
  });
});

describe('a plan made later', () => {
  const announced = planOf([change('a'), shape('toolkit', 'new-containers'), change('r', { reboot: true })]);
  const refined = { step: 'toolkit', disturbs: 'new-containers' } as const;
  const waiting: Change = {
    ...change('wait', { step: 'manager' }),
    actions: [{ kind: 'await-manager', configHash: 'x', timeoutS: 60 }],
  };
  const toWait: Shape = { ...shape('manager'), waits: true };

  it.each<[string, (Change | Shape)[], string[]]>([
    ['may do less', [change('r', { reboot: true })], []],
    ['may fill in what was unknown', [change('t', refined)], []],
    ['may leave it unknown', [shape('toolkit')], []],
    ['may not wait, either', [waiting], ['was not announced']],
    ['may not do anything else', [change('other')], ['was not announced']],
    [
      'may not disturb more than was said',
      [change('t', { step: 'toolkit', disturbs: 'containers' })],
      ['disturbs containers, more than was announced'],
    ],
    [
      'may not disturb more by a known change, either',
      [change('a', { disturbs: 'machine' })],
      ['disturbs machine, more than was announced'],
    ],
    ['may not bring new unknowns', [shape('driver')], ['was not announced']],
  ])('%s', (_name, items, expected) => {
    expect(deviations(planOf(items), announced).map(({ what }) => what)).toEqual(expected);
  });

  it.each<[string, Partial<Bound>, Partial<Bound>[], string | undefined]>([
    [
      'what was announced',
      { removes: ['old'], downgrades: ['lib'] },
      [{ removes: ['old'], downgrades: ['lib'] }],
      undefined,
    ],
    ['less', {}, [{ removes: ['old'], downgrades: ['lib'] }], undefined],
    ['another architecture of it', { removes: ['libcuda1:i386'] }, [{ removes: ['libcuda1'] }], undefined],
    [
      'what a pattern covers',
      { removes: ['nvidia-570', 'nvidia-smi'] },
      [{ removes: ['x', 'nvidia-*'] }],
      undefined,
    ],
    [
      'more to remove',
      { removes: ['old', 'kubelet', 'kubeadm'] },
      [{ removes: ['old'] }],
      'would remove kubelet, kubeadm as well',
    ],
    [
      'more to downgrade',
      { downgrades: ['libc6'] },
      [{ downgrades: ['lib'] }],
      'would downgrade libc6 as well',
    ],
    ['both', { removes: ['a'], downgrades: ['b'] }, [{}], 'would remove a as well'],
    [
      'a removal that was announced as a downgrade',
      { removes: ['a'] },
      [{ downgrades: ['a'] }],
      'would remove a as well',
    ],
    ['what one of two announced', { removes: ['a'] }, [{}, { removes: ['a'] }], undefined],
    ['what neither announced', { removes: ['a'] }, [{}, { removes: ['b'] }], 'would remove a as well'],
  ])('may do to packages: %s', (_, now, before, expected) => {
    const whole = (bound: Partial<Bound>): Bound => ({ removes: [], downgrades: [], ...bound });
    const changing = { ...change('p', { step: 'driver' }), bound: whole(now) };
    const shapes = before.map((bound) => ({ ...shape('driver'), bound: whole(bound) }));
    expect(deviations(planOf([changing]), planOf(shapes))[0]?.what).toBe(expected);
    const unbounded = planOf([change('p', { step: 'driver' })]);
    expect(deviations(unbounded, planOf(shapes))).toEqual([]);
    expect(deviations(planOf([changing]), planOf([shape('driver')]))).toEqual([]);
  });

  it('of which only waiting was announced may do nothing else there', () => {
    const wait = planOf([change('a'), toWait]);
    expect(deviations(planOf([waiting]), wait)).toEqual([]);
    expect(deviations(planOf([change('m', { step: 'manager' })]), wait)).toMatchObject([
      { what: 'was not announced' },
    ]);
  });

  it('waits only where that was announced, by itself or with a start', () => {
    const left = (...before: (Change | Shape)[]) =>
      withoutNewWaits(planOf([change('a'), waiting]), planOf(before)).stages.flat().length;
    const [run] = change('s').actions;
    const start = {
      ...change('s', { step: 'manager' }),
      actions: [...(run === undefined ? [] : [run]), ...waiting.actions],
    };
    expect([left(change('a')), left(change('a'), toWait), left(change('a'), waiting), left(start)]).toEqual([
      1, 2, 2, 2,
    ]);
    expect(withoutNewWaits(planOf([waiting]), planOf([change('a')])).stages).toEqual([]);
  });

  it('may wait once more for what an announced start waits for, which is no change of its own', () => {
    const [run] = change('s').actions;
    const actions = [...(run === undefined ? [] : [run]), ...waiting.actions];
    const start = planOf([{ ...change('s', { step: 'manager' }), actions }]);
    expect(deviations(planOf([waiting]), start)).toEqual([]);
    const made = start.stages.flat().filter((each): each is Change => each.known);
    expect([made.length + waitsMet(start, made), 2 + waitsMet(start, [...made, waiting])]).toEqual([1, 1]);
  });

  it('counts as made what was announced to be waited for, and was there already', () => {
    const wait = planOf([change('a'), toWait]);
    expect([waitsMet(wait, [change('a')]), waitsMet(wait, [change('a'), waiting])]).toEqual([1, 0]);
  });
});

describe('the digest of the facts', () => {
  const digest = factsDigest(factsOf());

  it.each([
    [
      'free disk',
      factsOf({ disk: { '/': { freeBytes: 1, mount: '/' } }, initramfsBytes: 1, arrived: { '/x': 1 } }),
    ],
    ['a reboot', factsOf({ bootId: 'another' })],
    ['a login', factsOf({ others: { logins: ['ann'] } })],
    ['an upgrade that holds the package lock', factsOf({ packageLock: 'apt-get (12)' })],
    [
      'what is left of a change that ended',
      factsOf({ changes: [{ id: 'a', title: '', owner: '', state: 'done', code: 0 }] }),
    ],
  ])('does not care about %s', (_name, facts) => {
    expect(factsDigest(facts)).toBe(digest);
  });

  it.each([
    ['an installed package', factsOf({ packages: { 'docker-ce': '5:29.7.2' } })],
    ['another kernel', factsOf({ kernel: '6.1.0-40-amd64' })],
    ['a file of ours that was edited', factsOf({ files: { '/etc/azp-fleet/manager.json': 'x' } })],
    [
      'a change that still runs',
      factsOf({ changes: [{ id: 'a', title: '', owner: '', state: 'running', code: undefined }] }),
    ],
  ])('changes with %s', (_name, facts) => {
    expect(factsDigest(facts)).not.toBe(digest);
  });
});
