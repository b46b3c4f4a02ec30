import { describe, expect, test } from 'vitest';
import type { Hold } from '../../../../src/manager/model.ts';
import {
  changesSince,
  openEpisodes,
  readEpisodes,
  type Episode,
  type SlotObservation,
} from '../../../../src/manager/webhook/episodes.ts';

const limits = { offlineMs: 600_000, queueWaitS: 1800 };
const lost = { code: 'gpu.lost', what: 'GPU: it is gone', next: 'reboot the host' } as const;
const quarantined: Hold = { kind: 'close', state: 'quarantined', cause: lost };
const drained: Hold = {
  kind: 'close',
  state: 'drained',
  cause: { code: 'drained', what: 'drained by ann', next: 'undrain it' },
};
const unchecked: Hold = {
  kind: 'pause',
  state: 'waiting',
  cause: { code: 'health.unknown', what: 'the GPUs have not been checked yet', next: 'wait a moment' },
};
const unisolated: Hold = {
  kind: 'close',
  state: 'waiting',
  cause: { code: 'fence.open', what: 'no rules', next: 'fix them' },
};
const poolDown: Hold = {
  kind: 'pause',
  state: 'waiting',
  cause: { code: 'azure.auth', what: 'refused', next: 'create a new token' },
};

const slotOf = (changes: Partial<SlotObservation> = {}, name = '0', pool = 'gpus'): SlotObservation => ({
  slot: { name, agent: `h1-${name}`, pool, gpus: [`GPU-${name}`] },
  hold: undefined,
  unavailableSince: undefined,
  cause: {},
  wait: undefined,
  ...changes,
});

/** Returns the open episodes after each check, a minute apart. */
function follow(...checks: readonly (readonly SlotObservation[])[]): readonly (readonly string[])[] {
  let open: readonly Episode[] = [];
  return checks.map((slots, minute) => {
    open = openEpisodes(open, slots, limits, { now: minute * 60_000, at: `minute ${minute}` });
    return open.map(({ key, since }) => `${key}, ${since}`);
  });
}

describe('a closed slot', () => {
  test('begins once, also with another finding, and ends when it is open', () => {
    const other: Hold = { ...quarantined, cause: { ...lost, what: 'GPU: it is hot, too' } };
    expect(
      follow([slotOf()], [slotOf({ hold: quarantined })], [slotOf({ hold: other })], [slotOf()], [slotOf()]),
    ).toEqual([[], ['slot-closed 0, minute 1'], ['slot-closed 0, minute 1'], [], []]);
  });

  test.each([
    ['drained', drained, true],
    ['not checked yet, after a restart', unchecked, true],
    ['without its network isolation', unisolated, true],
    ['waiting for the pool with healthy GPUs', poolDown, false],
  ])('that is %s', (_, hold, stays) => {
    const [, after] = follow([slotOf({ hold: quarantined })], [slotOf({ hold })]);
    expect(after).toEqual(stays ? ['slot-closed 0, minute 0'] : []);
  });

  test('for what often ends by itself begins when that has lasted, and another cause at once', () => {
    const starting = { ...lost, code: 'cuda.not-ready' } as const;
    const closedFor = (ms: number, cause: Hold['cause'] = starting) =>
      slotOf({ hold: { ...quarantined, cause }, closedMs: ms });
    expect(follow([closedFor(0)], [closedFor(119_999)], [closedFor(120_000)], [closedFor(0)])).toEqual([
      [],
      [],
      ['slot-closed 0, minute 2'],
      ['slot-closed 0, minute 2'],
    ]);
    expect(follow([closedFor(0, lost)])).toEqual([['slot-closed 0, minute 0']]);
  });

  test('that is no longer configured ends', () => {
    expect(follow([slotOf({ hold: quarantined })], [slotOf({}, '1')])[1]).toEqual([]);
  });

  test('has its slot, GPUs and next action', () => {
    const [episode] = openEpisodes([], [slotOf({ hold: quarantined })], limits, { now: 0, at: 't' });
    expect(episode).toEqual({
      key: 'slot-closed 0',
      kind: 'slot-closed',
      since: 't',
      slot: '0',
      agent: 'h1-0',
      pool: 'gpus',
      gpus: ['GPU-0'],
      ...lost,
    });
  });
});

describe('an agent that is offline', () => {
  const offline = (minutes: number, unavailableSince: number) =>
    Array.from({ length: minutes }, () => [slotOf({ unavailableSince: unavailableSince * 60_000 })]);

  test('begins once at the limit, and ends when it is online', () => {
    const seen = follow(
      ...offline(10, 0),
      [slotOf({ unavailableSince: 0 })],
      [slotOf({ unavailableSince: 0 })],
      [slotOf()],
    );
    expect(seen.slice(0, 10).flat()).toEqual([]);
    expect(seen.slice(10)).toEqual([['agent-offline 0, minute 10'], ['agent-offline 0, minute 10'], []]);
  });

  test('that was reported before a restart stays offline while its time restarts', () => {
    const before = openEpisodes([], [slotOf({ unavailableSince: 0 })], limits, {
      now: 600_000,
      at: 'before',
    });
    const after = openEpisodes(before, [slotOf({ unavailableSince: 5 })], limits, { now: 10, at: 'after' });
    expect(after).toEqual(before);
  });

  test('has its cause, if known', () => {
    const cause = { code: 'dataset.unusable', what: 'not mounted', next: 'mount it' } as const;
    const at = { now: 600_000, at: 't' };
    expect(openEpisodes([], [slotOf({ unavailableSince: 0, cause })], limits, at)[0]).toMatchObject(cause);
    expect(openEpisodes([], [slotOf({ unavailableSince: 0 })], limits, at)[0]).toMatchObject({
      code: 'agent.away',
      next: expect.stringMatching(/azp-fleet status/) as string,
    });
  });
});

describe('a long wait in the queue', () => {
  const waited = (requestId: number, waitedS: number, name = '0', pool = 'gpus') =>
    slotOf({ wait: { requestId, waitedS } }, name, pool);

  test('begins once per pool, and ends with a later job without a long wait', () => {
    expect(
      follow(
        [waited(1, 1800), waited(2, 1801, '1')],
        [waited(4, 4000), waited(3, 9999, '1')],
        [waited(4, 4000), waited(5, 0, '1')],
      ),
    ).toEqual([['queue-wait gpus, minute 0'], ['queue-wait gpus, minute 0'], []]);
  });

  test('belongs to its pool', () => {
    expect(follow([waited(1, 5000), waited(2, 1, '1', 'cpus')])[0]).toEqual(['queue-wait gpus, minute 0']);
  });

  test('stays open over a restart until a job is taken', () => {
    expect(follow([waited(1, 5000)], [slotOf()], [waited(2, 1)])).toEqual([
      ['queue-wait gpus, minute 0'],
      ['queue-wait gpus, minute 0'],
      [],
    ]);
  });
});

test('changes are reported; an episode that ended and began again is both', () => {
  const episode = (key: string, since: string) => ({ key, since }) as Episode;
  const [a, b, b2, c] = [episode('a', '1'), episode('b', '1'), episode('b', '2'), episode('c', '1')];
  expect(changesSince([a, b], [a, b2, c])).toEqual({ begun: [b2, c], ended: [b] });
  expect(changesSince([a], [a])).toEqual({ begun: [], ended: [] });
});

test.each([undefined, null, 7, 'x', {}, [null], [{}], [{ key: 'a' }], [{ key: 'a', kind: 'other' }]])(
  'an invalid episode of a state file is ignored: %j',
  (value) => {
    expect(readEpisodes(value)).toEqual([]);
  },
);

test('an episode is read from the state as it was written', () => {
  const open = openEpisodes([], [slotOf({ hold: quarantined })], limits, { now: 0, at: 't' });
  expect(readEpisodes(JSON.parse(JSON.stringify(open)))).toEqual(open);
});
