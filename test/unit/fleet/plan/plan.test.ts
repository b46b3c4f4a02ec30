import { describe, expect, it } from 'vitest';

import { changedFacts, factDigests, factsDigest } from '../../../../src/fleet/plan/digest.ts';
import {
  firstStage,
  hasChanges,
  isEmpty,
  planHost,
  questionFor,
  withSharedTexts,
} from '../../../../src/fleet/plan/plan.ts';
import {
  deviations,
  differentChanges,
  waitsMet,
  withoutNewWaits,
} from '../../../../src/fleet/plan/refine.ts';
import type { Facts, GatheredFacts } from '../../../../src/fleet/facts/facts.ts';
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

describe('texts in memory', () => {
  const [script, text] = ['apt-get install docker-ce', '[Unit]'];
  const upload = {
    kind: 'upload',
    artifact: { kind: 'text', text, sha256: 'a'.repeat(64) },
    path: '/etc/unit',
    mode: 0o644,
  } as const;
  const program = { ...upload, artifact: { kind: 'file', path: '/tmp/x', sha256: 'b'.repeat(64) } } as const;
  const awaited = { kind: 'await-manager', configHash: 'x', timeoutS: 60 } as const;
  const plan = (host: string) => {
    const { actions, ...rest } = change('install');
    const items = [
      { ...rest, actions: [{ ...actions[0], kind: 'run', script }, upload, program, awaited] } as Change,
      shape('toolkit'),
    ];
    return { ...planOf(items), host };
  };

  it('of a fleet are kept once, and no plan changes', () => {
    const known = new Map<string, string>();
    for (const host of ['h200-1', 'h200-2']) expect(withSharedTexts(plan(host), known)).toEqual(plan(host));
    expect([...known.keys()]).toEqual([script, text]);
  });
});

describe('stages', () => {
  const known = (items: (Change | Shape)[]) =>
    planOf(items).stages.map((stage) =>
      stage.map((item) => (item.kind === 'change' ? item.id : `? ${item.step}`)),
    );

  it.each<[string, (Change | Shape)[], string[][]]>([
    ['nothing to do', [], []],
    ['known changes run together', [change('a'), change('b')], [['a', 'b']]],
    ['a reboot ends a stage', [change('a'), change('r', { reboot: true }), change('b')], [['a', 'r'], ['b']]],
    ['an unknown change waits for new facts', [change('a'), shape('toolkit')], [['a'], ['? toolkit']]],
    [
      'what follows a shape stays behind it',
      [change('a'), shape('toolkit'), change('b')],
      [['a'], ['? toolkit'], ['b']],
    ],
  ])('%s', (_name, items, expected) => {
    expect(known(items)).toEqual(expected);
  });

  it('has nothing to run if it begins with a shape', () => {
    expect(firstStage(planOf([shape('docker')]))).toEqual([]);
    expect(isEmpty(planOf([shape('docker')]))).toBe(false);
  });

  it('has nothing to run if it is empty', () => {
    expect(firstStage(planOf([]))).toEqual([]);
    expect(isEmpty(planOf([]))).toBe(true);
  });

  it('is not empty with a refusal', () => {
    const refused = planOf([{ refused: true, step: 'docker', what: 'snap', next: 'remove it' }]);
    expect(isEmpty(refused)).toBe(false);
    expect(refused).toMatchObject({
      stages: [],
      refusals: [{ step: 'docker', what: 'snap', next: 'remove it' }],
    });
  });

  it('puts each shape in a separate stage after known changes', () => {
    expect(known([change('a'), change('b'), shape('toolkit'), shape('manager')])).toEqual([
      ['a', 'b'],
      ['? toolkit'],
      ['? manager'],
    ]);
  });
});

describe('a plan of a fleet', () => {
  const [nothing, something] = [[], [change('a')]];
  const pool = { kind: 'create-pool', pool: 'gpu-lab' } as unknown as FleetPlan['fleet'][number];

  it.each([
    ['nothing anywhere', { fleet: [], hosts: [nothing, nothing] }, false],
    ['no host', { fleet: [], hosts: [] }, false],
    ['one host of two', { fleet: [], hosts: [nothing, something] }, true],
    ['only the server', { fleet: [pool], hosts: [nothing] }, true],
    ['both', { fleet: [pool], hosts: [something] }, true],
  ])('has changes: %s', (_, { fleet, hosts }, expected) => {
    const plan = { fleet, hosts: hosts.map((items) => planOf(items)) };
    expect(hasChanges(plan as unknown as FleetPlan)).toBe(expected);
  });
});

describe('the question for a package manager', () => {
  const options = { steps: [dockerStep], disturbOthers: false };
  const bare = factsOf({ gpus: [] });
  const known = (answers: Answers) => planHost(bare, desiredOf(), options, { answers, final: false });

  it('is undefined if no package changes', () => {
    expect(questionFor(bare, desiredOf(), { ...options, steps: [stepOf(change('a'))] }, {})).toBeUndefined();
  });

  it('asks about package changes until answered; the plan contains the answers', () => {
    const question = questionFor(bare, desiredOf(), options, {});
    const answers = question?.read('') ?? {};
    expect(Object.keys(answers)).toHaveLength(1);
    const settled = Object.fromEntries(
      Object.keys(answers).map((key) => [
        key,
        {
          kind: 'value',
          value: { removes: [], installs: [], upgrades: [], downgrades: [], kept: [] },
        } as const,
      ]),
    );
    expect(questionFor(bare, desiredOf(), options, settled)).toBeUndefined();
    expect(known(settled).packages).toEqual(settled);
    expect(known({})).not.toHaveProperty('packages');
    expect(planHost(bare, desiredOf(), options)).not.toHaveProperty('packages');
  });
});

describe("other users' work", () => {
  const others = {
    containers: ['postgres'],
    elsewhere: ['container 0123456789ab of Podman'],
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
      'gpus',
      [
        '"do x" would disturb work of others: container postgres; GPU process python (4711, ann); container 0123456789ab of Podman',
      ],
    ],
    [
      'machine',
      [
        '"do x" would disturb work of others: container postgres; GPU process python (4711, ann); container 0123456789ab of Podman; login ann on pts/0',
      ],
    ],
  ])('a change that disturbs %s', (disturbs, expected) => {
    expect(refusalsFor(disturbs)).toEqual(expected);
  });

  it('is named in singular and plural', () => {
    const many = { containers: ['a', 'b'], gpuProcesses: ['c', 'd'], logins: ['e', 'f'] };
    const plan = planOf([change('x', { disturbs: 'machine' })], factsOf({ others: many }));
    expect(plan.refusals[0]?.what).toContain(': containers a, b; GPU processes c, d; logins e, f');
  });

  it('is disturbed only with --disturb-others', () => {
    expect(refusalsFor('machine', true)).toEqual([]);
  });
});

describe('a saved plan', () => {
  const file = (sha256: string, path = '/a') => ({ kind: 'file', path, sha256 });
  const text = (content: string) => ({ kind: 'text', text: content, sha256: 'c'.repeat(64) });
  const upload = (artifact: object): Change =>
    ({ ...change('up'), actions: [{ kind: 'upload', artifact, path: '/etc/x', mode: 0o644 }] }) as Change;
  const titled: Change = { ...change('a'), title: 'do it otherwise' };
  const otherScript: Change = { ...change('b'), id: 'a', title: 'do a' };
  const other = 'has other files or actions in the saved plan';

  it.each<[string, (Change | Shape)[], (Change | Shape)[], [string, string][]]>([
    ['that is the same', [change('a'), change('b')], [change('a'), change('b')], []],
    ['that lacks the change', [change('a')], [change('b')], []],
    ['that has only a shape for it', [change('a'), shape('docker')], [shape('docker')], []],
    [
      'with another title',
      [change('b'), titled],
      [change('b'), change('a')],
      [['do it otherwise', 'has the title "do a" in the saved plan']],
    ],
    ['with another script', [change('a')], [otherScript], [['do a', other]]],
    ['whose file is in another place', [upload(file('1', '/a'))], [upload(file('1', '/b'))], []],
    ['whose file has another digest', [upload(file('1'))], [upload(file('2'))], [['do up', other]]],
    ['whose file goes to the same text', [upload(text('x'))], [upload(text('x'))], []],
    ['whose file has another text', [upload(text('x'))], [upload(text('y'))], [['do up', other]]],
    [
      'whose file goes elsewhere',
      [upload(file('1'))],
      [{ ...upload(file('1')), actions: [{ ...upload(file('1')).actions[0], path: '/etc/y' }] } as Change],
      [['do up', other]],
    ],
  ])('%s', (_, now, saved, expected) => {
    const found = differentChanges(planOf(now), planOf(saved));
    expect(found.map(({ title, what }) => [title, what])).toEqual(expected);
  });
});

describe('a step', () => {
  const unread = (fact: string) => factsOf({ unknown: [{ fact, why: 'no answer in 5 s' }] });
  const reads = (key: keyof Facts): Step => ({ name: 'docker', plan: (facts) => (facts[key] ? [] : []) });
  const broken: Step = {
    name: 'driver',
    plan: () => {
      throw new Error('a bug');
    },
  };
  const run = (steps: readonly Step[], facts: GatheredFacts) =>
    planHost(facts, desiredOf(), { steps, disturbOthers: false });

  it('that fails for another reason than an unread fact fails the plan, and the question', () => {
    expect(() => run([broken], factsOf())).toThrow('a bug');
    expect(() => run([reads('docker'), broken], unread('docker'))).toThrow('a bug');
    expect(() => questionFor(factsOf(), desiredOf(), { steps: [broken], disturbOthers: false }, {})).toThrow(
      'a bug',
    );
  });

  it('that reads another unread fact than an earlier one adds it to the reason', () => {
    const unknown = ['docker', 'kernels'].map((fact) => ({ fact, why: 'no answer in 5 s' }));
    const [refused] = run([reads('docker'), reads('kernels')], factsOf({ unknown })).refusals;
    expect(refused?.what).toContain('docker (no answer in 5 s), kernels (no answer in 5 s)');
  });

  it('changes nothing while an earlier change may still run, and needs no such fact without a change', () => {
    const steps = [stepOf(change('a'))];
    expect(run(steps, unread('changes'))).toMatchObject({ stages: [], refusals: [{ step: 'facts' }] });
    expect(run([stepOf()], unread('changes'))).toMatchObject({ stages: [], refusals: [] });
    expect(firstStage(run([stepOf()], factsOf()))).toEqual([]);
  });
});

describe('a later plan', () => {
  const announced = () =>
    planOf([change('a'), shape('toolkit', 'new-containers'), change('r', { reboot: true })]);
  const refined = { step: 'toolkit', disturbs: 'new-containers' } as const;
  const waiting: Change = {
    ...change('wait', { step: 'manager' }),
    actions: [{ kind: 'await-manager', configHash: 'x', timeoutS: 60 }],
  };
  const toWait: Shape = { ...shape('manager'), waits: true };

  it.each<[string, (Change | Shape)[], string[]]>([
    ['may do less', [change('r', { reboot: true })], []],
    ['may replace a shape by a known change', [change('t', refined)], []],
    ['may keep the shape', [shape('toolkit')], []],
    ['may not wait', [waiting], ['was not announced']],
    ['may not add another change', [change('other')], ['was not announced']],
    [
      'may not disturb more than announced',
      [change('t', { step: 'toolkit', disturbs: 'containers' })],
      ['disturbs containers, more than was announced'],
    ],
    [
      'may not disturb the GPUs of others where only containers were announced',
      [change('t', { step: 'toolkit', disturbs: 'gpus' })],
      ['disturbs gpus, more than was announced'],
    ],
    [
      'may not disturb more by a known change',
      [change('a', { disturbs: 'machine' })],
      ['disturbs machine, more than was announced'],
    ],
    ['may not add a shape', [shape('driver')], ['was not announced']],
  ])('%s', (_name, items, expected) => {
    expect(deviations(planOf(items), announced()).map(({ what }) => what)).toEqual(expected);
  });

  it.each<[string, Partial<Bound>, Partial<Bound>[], string | undefined]>([
    [
      'what was announced',
      { removes: ['old'], downgrades: ['lib'] },
      [{ removes: ['old'], downgrades: ['lib'] }],
      undefined,
    ],
    ['fewer', {}, [{ removes: ['old'], downgrades: ['lib'] }], undefined],
    [
      'another architecture of an announced package',
      { removes: ['libcuda1:i386'] },
      [{ removes: ['libcuda1'] }],
      undefined,
    ],
    [
      'packages that match a pattern',
      { removes: ['nvidia-570', 'nvidia-smi'] },
      [{ removes: ['x', 'nvidia-*'] }],
      undefined,
    ],
    [
      'more removals',
      { removes: ['old', 'kubelet', 'kubeadm'] },
      [{ removes: ['old'] }],
      'would remove kubelet, kubeadm as well',
    ],
    [
      'more downgrades',
      { downgrades: ['libc6'] },
      [{ downgrades: ['lib'] }],
      'would downgrade libc6 as well',
    ],
    ['more of both', { removes: ['a'], downgrades: ['b'] }, [{}], 'would remove a as well'],
    [
      'a removal that was announced as a downgrade',
      { removes: ['a'] },
      [{ downgrades: ['a'] }],
      'would remove a as well',
    ],
    ['what one of two shapes announced', { removes: ['a'] }, [{}, { removes: ['a'] }], undefined],
    ['what neither shape announced', { removes: ['a'] }, [{}, { removes: ['b'] }], 'would remove a as well'],
  ])('may do to packages: %s', (_, now, before, expected) => {
    const whole = (bound: Partial<Bound>): Bound => ({ removes: [], downgrades: [], ...bound });
    const changing = { ...change('p', { step: 'driver' }), bound: whole(now) };
    const shapes = before.map((bound) => ({ ...shape('driver'), bound: whole(bound) }));
    expect(deviations(planOf([changing]), planOf(shapes))[0]?.what).toBe(expected);
    const unbounded = planOf([change('p', { step: 'driver' })]);
    expect(deviations(unbounded, planOf(shapes))).toEqual([]);
    expect(deviations(planOf([changing]), planOf([shape('driver')]))).toEqual([]);
  });

  it('may only wait if only a wait was announced', () => {
    const wait = planOf([change('a'), toWait]);
    expect(deviations(planOf([waiting]), wait)).toEqual([]);
    expect(deviations(planOf([change('m', { step: 'manager' })]), wait)).toMatchObject([
      { what: 'was not announced' },
    ]);
  });

  it('waits only if a wait was announced, alone or with a start', () => {
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

  it('may wait again for an announced start, which is not counted as a change', () => {
    const [run] = change('s').actions;
    const actions = [...(run === undefined ? [] : [run]), ...waiting.actions];
    const start = planOf([{ ...change('s', { step: 'manager' }), actions }]);
    expect(deviations(planOf([waiting]), start)).toEqual([]);
    const made = start.stages.flat().filter((each): each is Change => each.kind === 'change');
    expect([made.length + waitsMet(start, made), 2 + waitsMet(start, [...made, waiting])]).toEqual([1, 1]);
  });

  it('counts an announced wait as made if it was not needed', () => {
    const wait = planOf([change('a'), toWait]);
    expect([waitsMet(wait, [change('a')]), waitsMet(wait, [change('a'), waiting])]).toEqual([1, 0]);
  });
});

describe('the digest of the facts', () => {
  const digest = () => factsDigest(factsOf());

  it.each([
    [
      'free disk',
      factsOf({ disk: { '/': { freeBytes: 1, mount: '/' } }, initramfsBytes: 1, arrived: { '/x': 1 } }),
    ],
    ['a reboot', factsOf({ bootId: 'another' })],
    ['a login', factsOf({ others: { logins: ['ann'] } })],
    ['an upgrade that holds the package lock', factsOf({ packageLock: 'apt-get (12)' })],
    [
      'a change that ended',
      factsOf({ changes: [{ id: 'a', title: '', owner: '', state: 'done', code: 0 }] }),
    ],
  ])('does not change with %s', (_name, facts) => {
    expect(factsDigest(facts)).toBe(digest());
  });

  it.each([
    ['an installed package', factsOf({ packages: { 'docker-ce': '5:29.7.2' } })],
    ['another kernel', factsOf({ kernel: '6.1.0-40-amd64' })],
    ['an edited file of azp-fleet', factsOf({ files: { '/etc/azp-fleet/manager.json': 'x' } })],
    [
      'a change that still runs',
      factsOf({ changes: [{ id: 'a', title: '', owner: '', state: 'running', code: undefined }] }),
    ],
  ])('changes with %s', (_name, facts) => {
    expect(factsDigest(facts)).not.toBe(digest());
  });

  it('has a part for each fact, by which changes are named', () => {
    const before = factDigests(factsOf());
    expect(changedFacts(before, before)).toEqual([]);
    const later = factDigests(factsOf({ kernel: '6.1.0-40-amd64', machineId: 'other', bootId: 'another' }));
    expect(changedFacts(before, later)).toEqual(['kernel', 'machineId']);
    expect(changedFacts({ ...before, gone: 'x' }, before)).toEqual(['gone']);
  });
});
