import { expect, test } from 'vitest';
import type { Hold, ObservedContainer } from '../../../../src/manager/model.ts';
import { readAll } from '../../../../src/manager/runs/transcript.ts';
import { FirstSeen, slotStatus, stateOf } from '../../../../src/manager/serve/status.ts';
import { managerStatus } from '../../../support/manager-status.ts';
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
  isRecorded: false,
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
  ['it listens while it is drained', { container: container(), hold: close }, 'stopping'],
  [
    'its container has ended and is not collected yet',
    { container: container({ state: 'exited' }), hold: close },
    'stopping',
  ],
  ['a launch is in progress while it is drained', { busyWith: 'launch', hold: close }, 'stopping'],
  ['it has no container', { hold: close }, 'drained'],
  ['the containers have not been listed yet', { hold: close, areContainersKnown: false }, 'starting'],
  ['the pool does not answer', { hold: pause }, 'waiting'],
  ['the pool does not answer, but it listens', { hold: pause, container: container() }, 'idle'],
  ['the image is being built', { image: { state: 'building' } }, 'waiting'],
  ['it waits for the server', { waitingFor: cause, notBefore: 2000 }, 'waiting'],
  ['it has failed', { cause, notBefore: 2000 }, 'backing-off'],
  ['it is about to be launched again', { cause, notBefore: 0 }, 'starting'],
] as const)('%s', (_, changes, state) => {
  expect(stateOf(view(changes as Partial<View>), 1000)).toBe(state);
});

test('a listening agent without a connection is waiting, with the cause', () => {
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

test('a job is shown with its start', () => {
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
] as const)('a fault is shown until the agent listens: it %s', (_, phase, shown) => {
  const slot = { ...view({ cause, container: container({ phase }) }), jobsRun: 0, agentId: 1, current: {} };
  expect(slotStatus(slot, 1000, '').cause).toBe(shown);
});

test('a held slot names the job that the server still shows', () => {
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

test('a finding and a problem have the time since which they have lasted without a break', () => {
  const seen = new FirstSeen();
  const at = (minute: number) => `2026-11-20T10:0${minute}:00Z`;
  const times = (minute: number, hot: readonly string[], problems: readonly string[]) => {
    const found = (code: string) => ({ code, what: `at ${minute}`, next: 'n', severity: 'warn' as const });
    const findings = hot.map((gpu) => ({ ...found('gpu.hot'), gpu }));
    const status = managerStatus({
      at: at(minute),
      health: { state: 'degraded', findings },
      problems: problems.map(found),
    });
    const dated = seen.date(status);
    return [...dated.health.findings, ...dated.problems].map(({ since }) => since);
  };
  expect(times(0, ['a'], [])).toEqual([at(0)]);
  expect(times(1, ['b', 'a'], ['azure.auth'])).toEqual([at(1), at(0), at(1)]);
  expect(times(2, ['b'], ['azure.auth'])).toEqual([at(1), at(1)]);
  expect(times(3, ['b', 'a'], [])).toEqual([at(1), at(3)]);
});
