import { expect, test } from 'vitest';
import type { Hold, ObservedContainer } from '../../../../src/manager/model.ts';
import { readAll } from '../../../../src/manager/runs/transcript.ts';
import { slotStatus, stateOf } from '../../../../src/manager/serve/status.ts';
import { plainSlot } from '../../../support/slot.ts';

type View = Parameters<typeof stateOf>[0];

const cause = { code: 'bug', what: 'x', next: 'x' } as const;
const close: Hold = { kind: 'close', state: 'drained', cause };
const pause: Hold = { kind: 'pause', state: 'waiting', cause };
const container = (changes: Partial<ObservedContainer> = {}): ObservedContainer => ({
  id: 'c',
  state: 'running',
  image: 'i',
  settings: 's',
  phase: 'listening',
  stuck: undefined,
  ...changes,
});
const view = (changes: Partial<View> = {}): View => ({
  slot: { ...plainSlot, agent: 'a-0' },
  container: undefined,
  transcript: undefined,
  busyWith: undefined,
  hold: undefined,
  leftJob: undefined,
  notBefore: 0,
  cause: undefined,
  waitingFor: undefined,
  needsUpdate: false,
  image: { state: 'ready', id: 'i' },
  areContainersKnown: true,
  ...changes,
});

test.each([
  ['it listens', { container: container() }, 'idle'],
  ['it runs a job', { container: container({ phase: 'running' }) }, 'busy'],
  ['it runs a job and is drained', { container: container({ phase: 'running' }), hold: close }, 'busy'],
  ['it connects', { container: container({ phase: 'connecting' }) }, 'starting'],
  ['it listens and is to be drained', { container: container(), hold: close }, 'stopping'],
  [
    'its container has ended and is not collected yet',
    { container: container({ state: 'exited' }), hold: close },
    'stopping',
  ],
  ['a launch is under way while it is drained', { busyWith: 'launch', hold: close }, 'stopping'],
  ['nothing is left of it', { hold: close }, 'drained'],
  ['nobody has looked at the containers yet', { hold: close, areContainersKnown: false }, 'starting'],
  ['the pool is away', { hold: pause }, 'waiting'],
  ['the pool is away, but it listens', { hold: pause, container: container() }, 'idle'],
  ['the image is being built', { image: { state: 'building' } }, 'waiting'],
  ['it waits for the server', { waitingFor: cause, notBefore: 2000 }, 'waiting'],
  ['it has failed', { cause, notBefore: 2000 }, 'backing-off'],
  ['it is about to be launched again', { cause, notBefore: 0 }, 'starting'],
] as const)('%s', (_, changes, state) => {
  expect(stateOf(view(changes as Partial<View>), 1000)).toBe(state);
});

test('an agent that listens and has lost the server takes no jobs, and says why', () => {
  const console =
    'Connecting to the server.\n2026-11-21 02:00:00Z: Listening for Jobs\n' +
    '2026-11-21 02:05:00Z: Agent connect error: Connection refused (a:443). Retrying until reconnected.\n';
  const cut = {
    ...view({ container: container(), transcript: readAll(console) }),
    jobsRun: 0,
    agentId: 1,
    current: {},
  };
  expect(slotStatus(cut, 1000, '')).toMatchObject({ state: 'waiting', code: 'agent.cannot-connect' });
  const back = { ...cut, transcript: readAll(`${console}2026-11-21 02:06:00Z: Agent reconnected.\n`) };
  expect(slotStatus(back, 1000, '')).toMatchObject({ state: 'idle' });
  expect(slotStatus(back, 1000, '').cause).toBeUndefined();
});

test('a job is told with its beginning', () => {
  const transcript = readAll('2026-11-21 02:00:01Z: Running job: train\n');
  const busy = view({ container: container({ phase: 'running' }), transcript });
  expect(slotStatus({ ...busy, jobsRun: 0, agentId: 1, current: {} }, 1000, '')).toMatchObject({
    state: 'busy',
    job: 'train',
    jobSince: '2026-11-21T02:00:01Z',
  });
});

test.each([
  ['connects', 'connecting', 'x'],
  ['listens', 'listening', undefined],
  ['has a job', 'running', undefined],
] as const)('what was wrong is shown until the agent listens: it %s', (_, phase, shown) => {
  const slot = { ...view({ cause, container: container({ phase }) }), jobsRun: 0, agentId: 1, current: {} };
  expect(slotStatus(slot, 1000, '').cause).toBe(shown);
});

test('a slot that is held says of which job the server still waits for the end', () => {
  const leftJob = {
    code: 'agent.job-assigned',
    what: 'the server still counts job train',
    next: 'wait',
  } as const;
  const held = { ...view({ hold: close, leftJob }), jobsRun: 0, agentId: 1, current: {} };
  expect(slotStatus(held, 1000, '')).toMatchObject({
    state: 'drained',
    code: 'bug',
    cause: 'x; the server still counts job train',
  });
});
