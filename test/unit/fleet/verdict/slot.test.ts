// One case a row: state × age × the server's view.
import { describe, expect, test } from 'vitest';

import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import { judgeSlot, type SlotContext } from '../../../../src/fleet/verdict/slot.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const at = Date.parse('2026-11-20T10:00:00Z');
const ago = (seconds: number): string => new Date(at - seconds * 1000).toISOString();

const slot = (difference: Partial<SlotStatus> = {}): SlotStatus => ({
  slot: '0',
  agent: 'a-0',
  state: 'idle',
  gpus: [],
  pool: 'gpu-lab',
  since: ago(600),
  run: { id: 'r', startedAt: ago(610), agentId: 7, settings: 'now' },
  settings: 'now',
  jobsRun: 0,
  ...difference,
});

const agent: AzureAgent = {
  id: 7,
  name: 'a-0',
  enabled: true,
  status: 'online',
  userCapabilities: { 'azp-fleet.owner': 'us' },
};

const context = (difference: Partial<SlotContext> = {}, shown: Partial<AzureAgent> = {}): SlotContext => ({
  status: managerStatus({ at: new Date(at).toISOString(), owner: 'us' }),
  agents: new Map([['a-0', { ...agent, ...shown }]]),
  waited: false,
  hostHasProblem: false,
  ...difference,
});

const old = { id: 'r', startedAt: ago(9000), agentId: 7, settings: 'before' };
const none = { run: undefined, settings: undefined } as unknown as Partial<SlotStatus>;
const held = { code: 'agent.name-held', cause: 'agent a-0 belongs to another installation', next: 'adopt' };
const conflict = { code: 'agent.session-conflict', cause: 'the server still holds a session', next: 'wait' };
const left = { code: 'agent.session-left', cause: 'the last agent left its session', next: 'wait' };
const dataset = { code: 'dataset.unusable', cause: 'dataset X: /x is empty', next: 'fill it' };
const refused = { code: 'agent.login-refused', cause: 'the login is refused', next: 'wait' };
const checking = { code: 'health.unknown', cause: 'the GPUs have not been checked yet', next: 'wait' };

describe('an agent that works, or is drained', () => {
  test.each<[string, Partial<SlotStatus>, Partial<AzureAgent>]>([
    ['idle, online', {}, {}],
    ['busy', { state: 'busy' }, {}],
    ['drained', { state: 'drained', code: 'drained', run: undefined as never }, { status: 'offline' }],
    ['the machine powers itself off', { state: 'stopping', code: 'idle.ending', awaySince: ago(6000) }, {}],
    ['busy, and the desired settings are unknown', { state: 'busy', settings: undefined as never }, {}],
    ['drained, its agent stops', { state: 'stopping', code: 'drained', awaySince: ago(6000) }, {}],
  ])('%s', (_, difference, shown) => {
    expect(judgeSlot(slot(difference), context({}, shown))).toEqual({ kind: 'ok' });
  });

  test('waits without a finding if the host has a problem', () => {
    const waiting = slot({ state: 'waiting', ...refused });
    expect(judgeSlot(waiting, context({ hostHasProblem: true }))).toEqual({ kind: 'ok' });
    expect(judgeSlot(waiting, context())).toMatchObject({ kind: 'trouble', reported: true });
  });

  test('is judged by the manager alone without a list of the pool', () => {
    expect(judgeSlot(slot(), context({ agents: undefined }))).toEqual({ kind: 'ok' });
  });
});

test('a job from before the change is no trouble at any age', () => {
  const busy = slot({ state: 'busy', run: old });
  expect(judgeSlot(busy, context())).toEqual({ kind: 'older-job' });
  expect(judgeSlot(busy, context({ waited: true }))).toEqual({ kind: 'older-job' });
});

test('a busy agent whose manager reports no run is unreported, whatever its settings', () => {
  expect(judgeSlot(slot({ state: 'busy', run: undefined as never }), context())).toEqual({
    kind: 'unreported',
  });
});

test('an owner in the pool is compared only if the manager reports one', () => {
  const { owner: _, ...status } = managerStatus({ at: new Date(at).toISOString(), owner: 'us' });
  expect(judgeSlot(slot(), context({ status }))).toEqual({ kind: 'ok' });
});

test('an agent that its manager disabled is no trouble while a drain holds it, and only then', () => {
  const ours = { enabled: false, userCapabilities: { 'azp-fleet.owner': 'us', 'azp-fleet.disabled': 'x' } };
  const drainedBy = (...names: readonly (string | undefined)[]) => {
    const drains = names.map((name) => ({
      ...(name === undefined ? {} : { slot: name }),
      reason: 'fan',
      at: ago(600),
    }));
    const drained = managerStatus({ at: new Date(at).toISOString(), owner: 'us', drains });
    return judgeSlot(slot({ state: 'busy' }), context({ status: drained }, ours)).kind;
  };
  expect(['0', undefined].map((name) => drainedBy(name))).toEqual(['ok', 'ok']);
  expect([drainedBy('1'), drainedBy()]).toEqual(['trouble', 'trouble']);
});

test.each<[string, Partial<SlotStatus>, string]>([
  ['stopping', { state: 'stopping' }, 'is still being stopped'],
  ['stopping, with a cause', { state: 'stopping', cause: 'x' }, 'x'],
  ['idle, with desired settings unknown yet', { settings: undefined as never }, 'is still starting'],
  ['the same with a cause', { settings: undefined as never, cause: 'x' }, 'x'],
  ['starting', { state: 'starting' }, 'is still starting'],
  ['quarantined', { state: 'quarantined' }, 'quarantined'],
  ['quarantined, with a cause', { state: 'quarantined', cause: 'x' }, 'x'],
  ['held, without a cause', { state: 'backing-off', code: 'agent.name-held' }, 'backing-off'],
  ['in a conflict, without a cause', { state: 'waiting', code: 'agent.session-conflict' }, 'waiting'],
  ['refused, without a cause', { state: 'backing-off', code: 'agent.login-refused' }, 'backing-off'],
])('an agent is named by its cause, or by its state: %s', (_, difference, what) => {
  expect(judgeSlot(slot(difference), context())).toMatchObject({ kind: 'trouble', what });
});

test('an agent that was asked to update does not get better by waiting', () => {
  const updating = { code: 'image.outdated', cause: 'too old', next: 'raise agent.version' };
  expect(judgeSlot(slot(updating), context())).toEqual({
    kind: 'trouble',
    code: 'image.outdated',
    what: 'too old',
    next: 'raise agent.version',
    reported: true,
    temporary: false,
    mayWork: true,
  });
});

test.each<[string, Partial<SlotStatus>, boolean, string]>([
  ['a container without an entry is stopped', {}, false, 'docker stop AGENT'],
  ['also if its id ends like a host run’s', { container: 'a-host-' }, false, 'docker stop AGENT'],
  ['a run on the host cannot be', { container: 'host-1' }, false, 'docker logs'],
  ['a container that is offline has a log', {}, true, 'docker logs'],
  ['a run on the host that is offline, too', { container: 'host-1' }, true, 'docker logs'],
])('the next action in the pool: %s', (_, difference, registered, next) => {
  const agents = new Map(registered ? [['a-0', { ...agent, status: 'offline' as const }]] : []);
  expect(judgeSlot(slot(difference), context({ agents }))).toMatchObject({
    next: expect.stringContaining(next) as string,
  });
});

test.each(['idle', 'busy'] as const)('an agent whose manager reports no run is unreported: %s', (state) => {
  expect(judgeSlot(slot({ state, ...none }), context())).toEqual({ kind: 'unreported' });
});

describe('an agent that does not work', () => {
  test.each<[string, Partial<SlotStatus>, { reported: boolean; temporary: boolean }]>([
    // Waiting does not help, in any state.
    [
      'its name is held: backing off',
      { state: 'backing-off', ...held },
      { reported: true, temporary: false },
    ],
    [
      'its name is held: tries again',
      { state: 'starting', since: ago(0), ...held },
      { reported: true, temporary: false },
    ],
    [
      'a dataset is missing',
      { state: 'waiting', since: ago(0), ...dataset },
      { reported: true, temporary: false },
    ],
    ['its GPU is bad', { state: 'quarantined', since: ago(0) }, { reported: true, temporary: false }],
    // Jobs wait for the end of the session: reported at once, and temporary.
    [
      'in a session conflict',
      { state: 'starting', since: ago(2), ...conflict },
      { reported: true, temporary: true },
    ],
    [
      'behind a session that was left',
      { state: 'waiting', since: ago(2), ...left },
      { reported: true, temporary: true },
    ],
    // It may come back by itself, and is reported at once while it backs off.
    ['backing off', { state: 'backing-off', since: ago(1), ...refused }, { reported: true, temporary: true }],
    [
      'starting, with the cause of the agent before',
      { state: 'starting', since: ago(59), ...refused },
      { reported: false, temporary: true },
    ],
    [
      'starting for a minute, with a cause that has no code',
      { state: 'starting', since: ago(61), cause: 'x' },
      { reported: true, temporary: true },
    ],
    [
      'the same for a minute',
      { state: 'starting', since: ago(61), ...refused },
      { reported: true, temporary: true },
    ],
    // Every start.
    ['starting', { state: 'starting', since: ago(90) }, { reported: false, temporary: true }],
    ['starting for longer', { state: 'starting', since: ago(91) }, { reported: true, temporary: true }],
    [
      'the GPUs are being checked',
      { state: 'waiting', since: ago(90), ...checking },
      { reported: false, temporary: true },
    ],
    [
      'the GPUs are being checked for longer',
      { state: 'waiting', since: ago(91), ...checking },
      { reported: true, temporary: true },
    ],
    ['stopping', { state: 'stopping', since: ago(90) }, { reported: false, temporary: true }],
    ['stopping for longer', { state: 'stopping', since: ago(91) }, { reported: true, temporary: true }],
    // An agent from before the change, without a job.
    ['still the old one', { run: old, awaySince: ago(90) }, { reported: false, temporary: true }],
    ['still the old one, for longer', { run: old, awaySince: ago(91) }, { reported: true, temporary: true }],
    [
      'desired settings unknown yet',
      { settings: undefined as never, awaySince: ago(5) },
      { reported: false, temporary: true },
    ],
    // Each attempt changes the state's time, but not awaySince.
    [
      'one attempt after another',
      { state: 'starting', since: ago(2), awaySince: ago(91) },
      { reported: true, temporary: true },
    ],
    [
      'an invalid time counts as old',
      { state: 'starting', since: 'yesterday' },
      { reported: true, temporary: true },
    ],
  ])('%s', (_, difference, expected) => {
    expect(judgeSlot(slot(difference), context())).toMatchObject({ kind: 'trouble', ...expected });
    // After the wait, everything is reported.
    expect(judgeSlot(slot(difference), context({ waited: true }))).toMatchObject({
      kind: 'trouble',
      reported: true,
      temporary: expected.temporary,
    });
  });

  test('has its manager’s cause and next action', () => {
    expect(judgeSlot(slot({ state: 'backing-off', ...held }), context())).toMatchObject({
      what: held.cause,
      next: held.next,
    });
  });
});

describe('an agent that listens on the host, and in the pool is', () => {
  const young = { since: ago(60) };
  test.each<
    [
      string,
      Partial<SlotStatus>,
      Partial<AzureAgent> | undefined,
      string,
      { reported: boolean; temporary: boolean },
    ]
  >([
    ['not registered, and young', young, undefined, 'not registered', { reported: false, temporary: true }],
    ['not registered', {}, undefined, 'not registered in pool gpu-lab', { reported: true, temporary: true }],
    ['offline, and young', young, { status: 'offline' }, 'offline', { reported: false, temporary: true }],
    ['offline', {}, { status: 'offline' }, 'offline in pool gpu-lab', { reported: true, temporary: true }],
    [
      'offline, with a job',
      { state: 'busy' },
      { status: 'offline' },
      'offline',
      { reported: true, temporary: true },
    ],
    [
      'another installation’s',
      {},
      { userCapabilities: { 'azp-fleet.owner': 'them' } },
      'belongs to another installation',
      { reported: true, temporary: true },
    ],
    [
      'of no installation',
      young,
      { userCapabilities: {} },
      'another installation',
      { reported: false, temporary: true },
    ],
    [
      'another agent with the name',
      {},
      { id: 8 },
      'was registered as agent 7, but pool gpu-lab has agent 8',
      { reported: true, temporary: true },
    ],
    [
      'disabled by hand',
      young,
      { enabled: false },
      'disabled in pool gpu-lab',
      { reported: true, temporary: false },
    ],
    [
      'disabled by its manager, which will enable it',
      young,
      { enabled: false, userCapabilities: { 'azp-fleet.owner': 'us', 'azp-fleet.disabled': 'x' } },
      'disabled',
      { reported: false, temporary: true },
    ],
  ])('%s', (_, difference, shown, what, expected) => {
    const agents = new Map(shown === undefined ? [] : [['a-0', { ...agent, ...shown }]]);
    expect(judgeSlot(slot(difference), context({ agents }))).toMatchObject({
      kind: 'trouble',
      what: expect.stringContaining(what) as string,
      ...expected,
    });
  });
});
