import { describe, expect, it } from 'vitest';

import { factsDigest } from '../../../src/plan/digest.ts';
import { firstStage, isEmpty, planHost } from '../../../src/plan/plan.ts';
import { deviations, waitsMet, withoutNewWaits } from '../../../src/plan/refine.ts';
import type { Change, Disturbs, Shape } from '../../../src/steps/change.ts';
import type { Refusal, Step } from '../../../src/steps/step.ts';
import { desiredOf, factsOf } from '../../support/host.ts';
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
    ['containers', ['"do x" would disturb work that is not ours: container postgres']],
    [
      'machine',
      [
        '"do x" would disturb work that is not ours: container postgres; GPU process python (4711, ann); login ann on pts/0',
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
    const start = { ...change('s', { step: 'manager' }), actions: waiting.actions };
    expect([left(change('a')), left(change('a'), toWait), left(change('a'), waiting), left(start)]).toEqual([
      1, 2, 2, 2,
    ]);
    expect(withoutNewWaits(planOf([waiting]), planOf([change('a')])).stages).toEqual([]);
  });

  it('counts as made what was announced to be waited for, and was there already', () => {
    const wait = planOf([change('a'), toWait]);
    expect([waitsMet(wait, [change('a')]), waitsMet(wait, [change('a'), waiting])]).toEqual([1, 0]);
  });
});

describe('the digest of the facts', () => {
  const digest = factsDigest(factsOf());

  it.each([
    ['free disk', factsOf({ disk: { '/': 1 } })],
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
