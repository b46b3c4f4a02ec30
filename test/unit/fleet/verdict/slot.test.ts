// States × ages × views of the server, one row a case.
import { describe, expect, test } from 'vitest';

import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import { judgeSlot, type SlotScene } from '../../../../src/fleet/verdict/slot.ts';
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

const scene = (difference: Partial<SlotScene> = {}, shown: Partial<AzureAgent> = {}): SlotScene => ({
  status: managerStatus({ at: new Date(at).toISOString(), owner: 'us' }),
  agents: new Map([['a-0', { ...agent, ...shown }]]),
  waited: false,
  isHostHeld: false,
  ...difference,
});

const old = { id: 'r', startedAt: ago(9000), agentId: 7, settings: 'before' };
const none = { run: undefined, settings: undefined } as unknown as Partial<SlotStatus>;
const held = { code: 'agent.name-held', cause: 'agent a-0 belongs to another installation', next: 'adopt' };
const conflict = { code: 'agent.session-conflict', cause: 'the server still holds a session', next: 'wait' };
const left = { code: 'agent.session-left', cause: 'the last agent left its session', next: 'wait' };
const dataset = { code: 'dataset.unusable', cause: 'dataset X: /x is empty', next: 'fill it' };
const refused = { code: 'agent.login-refused', cause: 'the login is refused', next: 'wait' };
const looking = { code: 'health.unknown', cause: 'the GPUs have not been checked yet', next: 'wait' };

describe('an agent that works, or is kept from it', () => {
  test.each<[string, Partial<SlotStatus>, Partial<AzureAgent>]>([
    ['waits for a job, online', {}, {}],
    ['runs one', { state: 'busy' }, {}],
    ['drained', { state: 'drained', code: 'drained', run: undefined as never }, { status: 'offline' }],
    ['drained, its agent leaves', { state: 'stopping', code: 'drained', awaySince: ago(6000) }, {}],
  ])('%s', (_, difference, shown) => {
    expect(judgeSlot(slot(difference), scene({}, shown))).toEqual({ kind: 'well' });
  });

  test('is told once where the whole host is held', () => {
    const waiting = slot({ state: 'waiting', ...refused });
    expect(judgeSlot(waiting, scene({ isHostHeld: true }))).toEqual({ kind: 'well' });
    expect(judgeSlot(waiting, scene())).toMatchObject({ kind: 'trouble', told: true });
  });

  test('without a list of the pool, its manager’s word is what there is', () => {
    expect(judgeSlot(slot(), scene({ agents: undefined }))).toEqual({ kind: 'well' });
  });
});

test('a job from before the change is no trouble, whatever its age', () => {
  const busy = slot({ state: 'busy', run: old });
  expect(judgeSlot(busy, scene())).toEqual({ kind: 'older-job' });
  expect(judgeSlot(busy, scene({ waited: true }))).toEqual({ kind: 'older-job' });
});

test.each(['idle', 'busy'] as const)(
  'a manager that tells nothing of runs is not taken for well: %s',
  (state) => {
    expect(judgeSlot(slot({ state, ...none }), scene())).toEqual({ kind: 'untold' });
  },
);

describe('an agent that does not work', () => {
  test.each<[string, Partial<SlotStatus>, { told: boolean; passing: boolean }]>([
    // Nothing comes by itself, in whatever state the tries are.
    ['its name is held: backing off', { state: 'backing-off', ...held }, { told: true, passing: false }],
    [
      'its name is held: tries again',
      { state: 'starting', since: ago(0), ...held },
      { told: true, passing: false },
    ],
    ['a dataset is missing', { state: 'waiting', since: ago(0), ...dataset }, { told: true, passing: false }],
    ['its GPU is bad', { state: 'quarantined', since: ago(0) }, { told: true, passing: false }],
    // Jobs wait for the end of the session: told at once, and it passes.
    [
      'in a session conflict',
      { state: 'starting', since: ago(2), ...conflict },
      { told: true, passing: true },
    ],
    [
      'behind a session that was left',
      { state: 'waiting', since: ago(2), ...left },
      { told: true, passing: true },
    ],
    // It may come back by itself, and is told at once where it has given up for now.
    ['backing off', { state: 'backing-off', since: ago(1), ...refused }, { told: true, passing: true }],
    [
      'starting, with what was wrong before',
      { state: 'starting', since: ago(59), ...refused },
      { told: false, passing: true },
    ],
    [
      'the same for a minute',
      { state: 'starting', since: ago(61), ...refused },
      { told: true, passing: true },
    ],
    // Every start.
    ['starting', { state: 'starting', since: ago(90) }, { told: false, passing: true }],
    ['starting for longer', { state: 'starting', since: ago(91) }, { told: true, passing: true }],
    [
      'the GPUs are looked at',
      { state: 'waiting', since: ago(90), ...looking },
      { told: false, passing: true },
    ],
    [
      'the GPUs are looked at for longer',
      { state: 'waiting', since: ago(91), ...looking },
      { told: true, passing: true },
    ],
    ['leaves', { state: 'stopping', since: ago(90) }, { told: false, passing: true }],
    ['does not leave', { state: 'stopping', since: ago(91) }, { told: true, passing: true }],
    // From before the change, and without a job.
    ['still the old one', { run: old, awaySince: ago(90) }, { told: false, passing: true }],
    ['still the old one, for longer', { run: old, awaySince: ago(91) }, { told: true, passing: true }],
    [
      'not known yet what is wanted',
      { settings: undefined as never, awaySince: ago(5) },
      { told: false, passing: true },
    ],
    // Each try is a change of state; being away is not.
    [
      'tries again and again',
      { state: 'starting', since: ago(2), awaySince: ago(91) },
      { told: true, passing: true },
    ],
    [
      'what is no time is no excuse',
      { state: 'starting', since: 'yesterday' },
      { told: true, passing: true },
    ],
  ])('%s', (_, difference, expected) => {
    expect(judgeSlot(slot(difference), scene())).toMatchObject({ kind: 'trouble', ...expected });
    // Who has waited long enough is told all of it.
    expect(judgeSlot(slot(difference), scene({ waited: true }))).toMatchObject({
      kind: 'trouble',
      told: true,
      passing: expected.passing,
    });
  });

  test('is told in its manager’s words', () => {
    expect(judgeSlot(slot({ state: 'backing-off', ...held }), scene())).toMatchObject({
      what: held.cause,
      next: held.next,
    });
  });
});

describe('what the server shows of an agent that says that it listens', () => {
  const young = { since: ago(60) };
  test.each<
    [
      string,
      Partial<SlotStatus>,
      Partial<AzureAgent> | undefined,
      string,
      { told: boolean; passing: boolean },
    ]
  >([
    ['nothing, and it is young', young, undefined, 'not registered', { told: false, passing: true }],
    ['nothing', {}, undefined, 'not registered in pool gpu-lab', { told: true, passing: true }],
    ['offline, and it is young', young, { status: 'offline' }, 'offline', { told: false, passing: true }],
    ['offline', {}, { status: 'offline' }, 'offline in pool gpu-lab', { told: true, passing: true }],
    [
      'offline, with a job',
      { state: 'busy' },
      { status: 'offline' },
      'offline',
      { told: true, passing: true },
    ],
    [
      'another installation’s',
      {},
      { userCapabilities: { 'azp-fleet.owner': 'them' } },
      'belongs to another installation',
      { told: true, passing: true },
    ],
    ['nobody’s', young, { userCapabilities: {} }, 'another installation', { told: false, passing: true }],
    [
      'another entry of the name',
      {},
      { id: 8 },
      'was registered as agent 7, but pool gpu-lab has agent 8',
      { told: true, passing: true },
    ],
    [
      'disabled by hand',
      young,
      { enabled: false },
      'disabled in pool gpu-lab',
      { told: true, passing: false },
    ],
    [
      'disabled by its manager, which will end it',
      young,
      { enabled: false, userCapabilities: { 'azp-fleet.owner': 'us', 'azp-fleet.disabled': 'x' } },
      'disabled',
      { told: false, passing: true },
    ],
  ])('%s', (_, difference, shown, what, expected) => {
    const agents = new Map(shown === undefined ? [] : [['a-0', { ...agent, ...shown }]]);
    expect(judgeSlot(slot(difference), scene({ agents }))).toMatchObject({
      kind: 'trouble',
      what: expect.stringContaining(what) as string,
      ...expected,
    });
  });
});
