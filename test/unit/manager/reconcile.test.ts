import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  Action,
  Observed,
  ObservedContainer,
  ObservedSlot,
  Desired,
} from '../../../src/manager/model.ts';
import { reconcile } from '../../../src/manager/reconcile.ts';
import {
  slot,
  desired,
  container,
  state,
  cause,
  hanging,
  stuck,
  close,
  pause,
  one,
} from './reconcile-states.ts';

describe('one slot', () => {
  const cases: [
    situation: string,
    seen: ObservedSlot,
    actions: readonly Action['kind'][],
    desiredState?: Desired,
  ][] = [
    ['empty', state(), ['launch']],
    ['empty, no image yet', state(), [], desired({ image: undefined })],
    ['empty, backing off', state({ notBefore: 2000 }), []],
    ['empty, the pause is over', state({ notBefore: 1000 }), ['launch']],
    ['an operation runs', state({ busyWith: 'launch' }), []],
    ['an operation has just failed', state({ retryAt: 2000 }), []],
    ['idle', state({ containers: [container()] }), []],
    ['busy', state({ containers: [container({ phase: 'running' })] }), []],
    ['created, never started', state({ containers: [container({ state: 'created' })] }), ['discard']],
    ['exited', state({ containers: [container({ state: 'exited' })] }), ['collect']],
    ['dead', state({ containers: [container({ state: 'dead' })] }), ['collect']],
    ['being removed by another user', state({ containers: [container({ state: 'removing' })] }), ['collect']],
    [
      'being removed, and recorded',
      state({ containers: [container({ state: 'removing', isRecorded: true })] }),
      [],
    ],
    [
      'being removed for long, and recorded',
      state({ containers: [container({ state: 'removing', isRecorded: true, stuck: cause })] }),
      ['discard'],
    ],
    [
      'paused for long while idle',
      state({ containers: [container({ state: 'paused', stuck: cause })] }),
      ['retire'],
    ],
    [
      'paused for long with a job',
      state({ containers: [container({ state: 'paused', phase: 'running', stuck: cause })] }),
      [],
    ],
    [
      'paused for long, output not read yet',
      state({ containers: [container({ state: 'paused', phase: 'unknown', stuck: cause })] }),
      [],
    ],
    [
      'exited while drained',
      state({ hold: close, containers: [container({ state: 'exited' })] }),
      ['collect'],
    ],
    ['drained and empty', state({ hold: close }), ['disable']],
    ['drained, empty, disabled', state({ hold: close, disabledFor: 'drained' }), []],
    ['drained, empty, key spent', state({ hold: close, keySpent: true }), ['disable']],
    [
      'drained, empty, disabled, key spent',
      state({ hold: close, disabledFor: 'drained', keySpent: true }),
      ['end-key'],
    ],
    ['paused, key spent', state({ hold: pause, keySpent: true }), ['end-key']],
    ['backing off, key spent', state({ notBefore: 2000, keySpent: true }), ['end-key']],
    ['no image yet, key spent', state({ keySpent: true }), ['end-key'], desired({ image: undefined })],
    ['key spent: the launch sets another', state({ keySpent: true }), ['launch']],
    ['drained, idle', state({ hold: close, containers: [container()] }), ['disable']],
    [
      'drained, idle, disabled',
      state({ hold: close, disabledFor: 'drained', containers: [container()] }),
      ['retire'],
    ],
    [
      'drained, busy, disabled',
      state({ hold: close, disabledFor: 'drained', containers: [container({ phase: 'running' })] }),
      [],
    ],
    [
      'drained, output not read yet',
      state({ hold: close, disabledFor: 'drained', containers: [container({ phase: 'unknown' })] }),
      [],
    ],
    ['paused and empty', state({ hold: pause }), []],
    ['paused and idle', state({ hold: pause, containers: [container()] }), []],
    [
      'undrained while busy',
      state({ disabledFor: 'drained', containers: [container({ phase: 'running' })] }),
      ['enable'],
    ],
    ['undrained and empty: the launch enables it', state({ disabledFor: 'drained' }), ['launch']],
    [
      'idle with other capabilities in the pool',
      state({ unpublished: true, containers: [container()] }),
      ['publish'],
    ],
    [
      'busy with other capabilities in the pool',
      state({ unpublished: true, containers: [container({ phase: 'running' })] }),
      ['publish'],
    ],
    [
      'other capabilities, but the pool is unavailable',
      state({ unpublished: true, hold: pause, containers: [container()] }),
      [],
    ],
    [
      'old settings and no image yet: new capabilities are not published for the old container',
      state({ unpublished: true, containers: [container({ settings: 'old' })] }),
      [],
      desired({ image: undefined }),
    ],
    [
      'busy with old settings: the same',
      state({ unpublished: true, containers: [container({ settings: 'old', phase: 'running' })] }),
      [],
    ],
    ['empty with other capabilities: the launch sets them', state({ unpublished: true }), ['launch']],
    ['idle on an old image', state({ containers: [container({ image: 'old' })] }), ['retire']],
    ['busy on an old image', state({ containers: [container({ image: 'old', phase: 'running' })] }), []],
    [
      'paused by hand, on an old image',
      state({ containers: [container({ state: 'paused', image: 'old' })] }),
      ['retire'],
    ],
    [
      'restarting, on an old image',
      state({ containers: [container({ state: 'restarting', image: 'old' })] }),
      ['retire'],
    ],
    [
      'being removed, on an old image',
      state({ containers: [container({ state: 'removing', image: 'old', isRecorded: true })] }),
      [],
    ],
    ['an operation failed long enough ago', state({ retryAt: 1000 }), ['launch']],
    ['idle with old settings', state({ containers: [container({ settings: 'old' })] }), ['retire']],
    ['never listens', state({ containers: [stuck] }), ['retire']],
    ['has finished its job', state({ containers: [container({ phase: 'done' })] }), []],
    ['has finished its job, and does not exit', state({ containers: [hanging] }), ['retire']],
    [
      'has finished its job while drained, and does not exit',
      state({ hold: close, disabledFor: 'drained', containers: [hanging] }),
      ['retire'],
    ],
    ['busy for long', state({ containers: [container({ phase: 'running', stuck: cause })] }), []],
    ['never listens, and the pool is unavailable', state({ hold: pause, containers: [stuck] }), []],
    ['never listens, and a stop has just failed', state({ retryAt: 2000, containers: [stuck] }), []],
    [
      'old image, but the pool is unavailable',
      state({ hold: pause, containers: [container({ image: 'old' })] }),
      [],
    ],
  ];
  test.each(cases)('%s', (_, seen, actions, desiredState) => {
    expect(one(seen, desiredState).map(({ kind }) => kind)).toEqual(actions);
  });

  test('that has not been observed yet gets no action', () => {
    expect(reconcile(desired(), { now: 1000, slots: new Map(), strays: [] })).toEqual([]);
  });

  test.each([
    ['runs the current program', 'agent', container({ image: 'agent' }), []],
    ['runs an older one', 'agent', container({ image: 'old' }), ['retire']],
    ['has no run', 'agent', undefined, ['launch']],
  ])('with mode: host %s, and images do not matter', (_, hostProgram, running, actions) => {
    const desiredState = { ...desired({ slots: [{ ...slot('0'), mode: 'host' }] }), hostProgram };
    const containers = running === undefined ? [] : [running];
    for (const images of [desiredState.images, new Map<string, never>()])
      expect(one(state({ containers }), { ...desiredState, images }).map(({ kind }) => kind)).toEqual(
        actions,
      );
  });
});

test.each([
  ['never listens', stuck],
  ['does not exit', hanging],
])('the retire action of an agent that %s has its cause', (_, seen) => {
  expect(one(state({ containers: [seen] }))).toEqual([
    { kind: 'retire', slot: '0', container: 'c', reason: 'drained', cause },
  ]);
});

describe('a new image', () => {
  const slots = ['0', '1', '2'].map(slot);
  const settings = new Map(slots.map(({ name }) => [name, 's']));
  const old = state({ containers: [container({ image: 'old' })] });
  const roll = (imageUnproven: boolean, seen: Readonly<Record<string, ObservedSlot>>): readonly Action[] =>
    reconcile(desired({ slots, settings, imageUnproven }), {
      now: 1000,
      slots: new Map(Object.entries(seen)),
      strays: [],
    });

  test('that is unproven takes one idle slot', () => {
    expect(roll(true, { 0: old, 1: old, 2: old })).toHaveLength(1);
  });
  test.each([
    ['is being retired for it', state({ busyWith: 'retire', containers: [container({ image: 'old' })] })],
    ['has ended', state({ containers: [container({ image: 'old', state: 'exited' })] })],
    ['waits for a retry', state({ notBefore: 5000 })],
    ['runs it and does not listen yet', state({ containers: [container({ phase: 'connecting' })] })],
  ])('is not tried on a second slot while the first %s', (_, first) => {
    const others = roll(true, { 0: first, 1: old, 2: old }).filter((action) => action.slot !== '0');
    expect(others).toEqual([]);
  });
  test('is tried on an idle slot while another waits for something else than its image, and only on one', () => {
    const held = state({ notBefore: 5000, waitsElsewhere: true });
    const actions = roll(true, { 0: held, 1: old, 2: old });
    expect(actions).toMatchObject([{ kind: 'retire', slot: '1' }]);
    const retiring = { ...old, busyWith: 'retire' };
    expect(roll(true, { 0: held, 1: retiring, 2: old })).toEqual([]);
  });
  test('is not tried on a second slot in the pass in which the first tries again', () => {
    const due = state({ notBefore: 1000, waitsElsewhere: true });
    expect(roll(true, { 0: due, 1: old }).map(({ kind }) => kind)).toEqual(['launch']);
  });
  test('is tried at the same time as another unproven one, and slots of a third keep working', () => {
    const image = (source: string, unproven: boolean) => ({ id: `new ${source}`, source, unproven });
    const images = new Map([
      ['0', image('a', true)],
      ['1', image('a', true)],
      ['2', image('b', true)],
      ['3', image('c', false)],
    ]);
    const names = [...images.keys()];
    const actions = reconcile(
      { ...desired(), slots: names.map(slot), images, settings: new Map(names.map((name) => [name, 's'])) },
      { now: 1000, slots: new Map(names.map((name) => [name, old])), strays: [] },
    );
    expect(actions.map(({ slot: name }) => name)).toEqual(['0', '2', '3']);
  });
  test('that is proven takes all idle slots', () => {
    expect(roll(false, { 0: state({ containers: [container()] }), 1: old, 2: old })).toHaveLength(2);
  });
});

test.each<[string, ObservedContainer, Action['kind'][], Partial<Observed['strays'][number]>?]>([
  ['idle', container(), ['retire']],
  ['busy', container({ phase: 'running' }), []],
  ['ended', container({ state: 'exited' }), ['collect']],
  ['with a finished job', container({ phase: 'done' }), []],
  ['with a finished job, and does not exit', hanging, ['retire']],
  ['ended after a job, and does not exit', { ...hanging, state: 'exited' }, ['collect']],
  ['never started', container({ state: 'created' }), ['discard']],
  ['being removed', container({ state: 'removing' }), ['collect']],
  ['being removed, and recorded', container({ state: 'removing', isRecorded: true }), []],
  ['with a running operation', container(), [], { busyWith: 'retire' as const }],
  ['tried just now', container(), [], { retryAt: 1001 }],
  ['tried long enough ago', container(), ['retire'], { retryAt: 1000 }],
])('a container of a slot that is no longer configured, %s', (_, stray, actions, more = {}) => {
  const seen: Observed = {
    now: 1000,
    slots: new Map(),
    strays: [{ ...stray, slot: '9', busyWith: undefined, retryAt: 0, ...more }],
  };
  expect(reconcile(desired({ slots: [] }), seen).map(({ kind }) => kind)).toEqual(actions);
});

const anyContainer = fc.record<ObservedContainer>({
  id: fc.uuid(),
  state: fc.constantFrom('created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'),
  image: fc.constantFrom('new', 'old'),
  settings: fc.constantFrom('s', 'old'),
  isRecorded: fc.boolean(),
  phase: fc.constantFrom('unknown', 'connecting', 'listening', 'running', 'done'),
  stuck: fc.constantFrom(undefined, cause),
});
const anySlot = fc.record<ObservedSlot>({
  containers: fc.array(anyContainer, { maxLength: 2 }),
  busyWith: fc.constantFrom(undefined, 'launch', 'retire'),
  retryAt: fc.constantFrom(0, 2000),
  notBefore: fc.constantFrom(0, 2000),
  hold: fc.constantFrom(undefined, close, pause),
  disabledFor: fc.constantFrom(undefined, 'drained', 'new image'),
  unpublished: fc.boolean(),
  keySpent: fc.boolean(),
  waitsElsewhere: fc.boolean(),
});

test('in any state: one action per slot, no launch beside a container, no stop of a container that may run a job', () => {
  fc.assert(
    fc.property(fc.array(anySlot, { maxLength: 4 }), fc.boolean(), (states, imageUnproven) => {
      const slots = states.map((_, index) => slot(String(index)));
      const desiredState = desired({
        slots,
        imageUnproven,
        settings: new Map(slots.map(({ name }) => [name, 's'])),
      });
      const seen = new Map(states.map((each, index) => [String(index), each]));
      const actions = reconcile(desiredState, { now: 1000, slots: seen, strays: [] });
      expect(new Set(actions.map((action) => action.slot)).size).toBe(actions.length);
      for (const action of actions) {
        const about = seen.get(action.slot);
        expect(about?.busyWith).toBeUndefined();
        if (action.kind === 'launch') {
          expect(about?.containers).toEqual([]);
          expect(about?.hold).toBeUndefined();
        }
        if (action.kind === 'end-key') expect(about?.containers).toEqual([]);
        if (action.kind !== 'retire' && action.kind !== 'collect' && action.kind !== 'discard') continue;
        const target = about?.containers.find(({ id }) => id === action.container);
        const up =
          target?.state === 'running' || target?.state === 'paused' || target?.state === 'restarting';
        // Its job ended five minutes ago.
        const hangs = target?.phase === 'done' && target.stuck !== undefined;
        if (up && !hangs) expect(['listening', 'connecting']).toContain(target?.phase);
        if (up) expect(action.kind).toBe('retire');
      }
    }),
  );
});
