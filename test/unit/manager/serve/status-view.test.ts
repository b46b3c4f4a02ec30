import { expect, test } from 'vitest';
import type { Hold, SeenContainer } from '../../../../src/manager/model.ts';
import { slotStatus, stateOf } from '../../../../src/manager/serve/status-view.ts';

type View = Parameters<typeof stateOf>[0];

const cause = { code: 'x', what: 'x', next: 'x' };
const close: Hold = { kind: 'close', state: 'drained', cause };
const pause: Hold = { kind: 'pause', state: 'waiting', cause };
const container = (changes: Partial<SeenContainer> = {}): SeenContainer => ({
  id: 'c',
  state: 'running',
  image: 'i',
  settings: 's',
  phase: 'listening',
  ...changes,
});
const view = (changes: Partial<View> = {}): View => ({
  slot: { name: '0', agent: 'a-0', gpus: [], missing: [], limits: {}, capabilities: [], mode: 'container' },
  container: undefined,
  transcript: undefined,
  busyWith: undefined,
  hold: undefined,
  notBefore: 0,
  cause: undefined,
  waitingFor: undefined,
  wantsUpdate: false,
  image: { state: 'ready', id: 'i' },
  looked: true,
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
  ['nobody has looked at the containers yet', { hold: close, looked: false }, 'starting'],
  ['the pool is away', { hold: pause }, 'waiting'],
  ['the pool is away, but it listens', { hold: pause, container: container() }, 'idle'],
  ['the image is being built', { image: { state: 'building' } }, 'waiting'],
  ['it waits for the server', { waitingFor: cause, notBefore: 2000 }, 'waiting'],
  ['it has failed', { cause, notBefore: 2000 }, 'backing-off'],
  ['it is about to be launched again', { cause, notBefore: 0 }, 'starting'],
] as const)('%s', (_, changes, state) => {
  expect(stateOf(view(changes as Partial<View>), 1000)).toBe(state);
});

test.each([
  ['connects', 'connecting', 'x'],
  ['listens', 'listening', undefined],
  ['has a job', 'running', undefined],
] as const)('what was wrong is shown until the agent listens: it %s', (_, phase, shown) => {
  const slot = { ...view({ cause, container: container({ phase }) }), jobsRun: 0, agentId: 1 };
  expect(slotStatus(slot, 1000, '').cause).toBe(shown);
});
