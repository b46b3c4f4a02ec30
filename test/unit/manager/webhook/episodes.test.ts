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
const unlooked: Hold = {
  kind: 'pause',
  state: 'waiting',
  cause: { code: 'health.unknown', what: 'the GPUs have not been checked yet', next: 'wait a moment' },
};
const unfenced: Hold = {
  kind: 'close',
  state: 'waiting',
  cause: { code: 'fence.open', what: 'no rules', next: 'make them work' },
};
const poolDown: Hold = {
  kind: 'pause',
  state: 'waiting',
  cause: { code: 'azure.auth', what: 'refused', next: 'make a new token' },
};

const look = (changes: Partial<SlotObservation> = {}, name = '0', pool = 'gpus'): SlotObservation => ({
  slot: { name, agent: `h1-${name}`, pool, gpus: [`GPU-${name}`] },
  hold: undefined,
  unavailableSince: undefined,
  cause: {},
  wait: undefined,
  ...changes,
});

/** Looks one after the other, a minute apart; the keys of what is open after each. */
function follow(...looks: readonly (readonly SlotObservation[])[]): readonly (readonly string[])[] {
  let open: readonly Episode[] = [];
  return looks.map((slots, minute) => {
    open = openEpisodes(open, slots, limits, { now: minute * 60_000, at: `minute ${minute}` });
    return open.map(({ key, since }) => `${key}, ${since}`);
  });
}

describe('a closed slot', () => {
  test('is told once, however long it stays closed and whatever else is found, and once more when it is open', () => {
    const other: Hold = { ...quarantined, cause: { ...lost, what: 'GPU: it is hot, too' } };
    expect(
      follow([look()], [look({ hold: quarantined })], [look({ hold: other })], [look()], [look()]),
    ).toEqual([[], ['slot-closed 0, minute 1'], ['slot-closed 0, minute 1'], [], []]);
  });

  test.each([
    ['drained', drained, true],
    ['not looked at yet, after a restart', unlooked, true],
    ['without its fence, which is asked for before', unfenced, true],
    ['waiting for the pool, which is asked only where the GPUs are well', poolDown, false],
  ])('that is %s', (_, hold, stays) => {
    const [, after] = follow([look({ hold: quarantined })], [look({ hold })]);
    expect(after).toEqual(stays ? ['slot-closed 0, minute 0'] : []);
  });

  test('that is no longer configured is over', () => {
    expect(follow([look({ hold: quarantined })], [look({}, '1')])[1]).toEqual([]);
  });

  test('says where, and what is to be done', () => {
    const [episode] = openEpisodes([], [look({ hold: quarantined })], limits, { now: 0, at: 't' });
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

describe('an agent that is away', () => {
  const away = (minutes: number, unavailableSince: number) =>
    Array.from({ length: minutes }, () => [look({ unavailableSince: unavailableSince * 60_000 })]);

  test('is told from the limit on, once, and once more when it is back', () => {
    const seen = follow(
      ...away(10, 0),
      [look({ unavailableSince: 0 })],
      [look({ unavailableSince: 0 })],
      [look()],
    );
    expect(seen.slice(0, 10).flat()).toEqual([]);
    expect(seen.slice(10)).toEqual([['agent-offline 0, minute 10'], ['agent-offline 0, minute 10'], []]);
  });

  test('that was told of before a restart is still away while its time begins anew', () => {
    const before = openEpisodes([], [look({ unavailableSince: 0 })], limits, { now: 600_000, at: 'before' });
    const after = openEpisodes(before, [look({ unavailableSince: 5 })], limits, { now: 10, at: 'after' });
    expect(after).toEqual(before);
  });

  test('says why, where that is known', () => {
    const cause = { code: 'dataset.unusable', what: 'not mounted', next: 'mount it' } as const;
    const at = { now: 600_000, at: 't' };
    expect(openEpisodes([], [look({ unavailableSince: 0, cause })], limits, at)[0]).toMatchObject(cause);
    expect(openEpisodes([], [look({ unavailableSince: 0 })], limits, at)[0]).toMatchObject({
      code: 'agent.away',
      next: expect.stringMatching(/azp-fleet status/) as string,
    });
  });
});

describe('a long wait in the queue', () => {
  const waited = (requestId: number, waitedS: number, name = '0', pool = 'gpus') =>
    look({ wait: { requestId, waitedS } }, name, pool);

  test('is told once a pool, until a job that was taken later had not waited long', () => {
    expect(
      follow(
        [waited(1, 1800), waited(2, 1801, '1')],
        [waited(4, 4000), waited(3, 9999, '1')],
        [waited(4, 4000), waited(5, 0, '1')],
      ),
    ).toEqual([['queue-wait gpus, minute 0'], ['queue-wait gpus, minute 0'], []]);
  });

  test('concerns its own pool', () => {
    expect(follow([waited(1, 5000), waited(2, 1, '1', 'cpus')])[0]).toEqual(['queue-wait gpus, minute 0']);
  });

  test('stands over a restart until a job is taken', () => {
    expect(follow([waited(1, 5000)], [look()], [waited(2, 1)])).toEqual([
      ['queue-wait gpus, minute 0'],
      ['queue-wait gpus, minute 0'],
      [],
    ]);
  });
});

test('what has changed is told; one that ended and began anew is both', () => {
  const episode = (key: string, since: string) => ({ key, since }) as Episode;
  const [a, b, b2, c] = [episode('a', '1'), episode('b', '1'), episode('b', '2'), episode('c', '1')];
  expect(changesSince([a, b], [a, b2, c])).toEqual({ begun: [b2, c], ended: [b] });
  expect(changesSince([a], [a])).toEqual({ begun: [], ended: [] });
});

test.each([undefined, null, 7, 'x', {}, [null], [{}], [{ key: 'a' }], [{ key: 'a', kind: 'other' }]])(
  'what a state file has that is no episode is none: %j',
  (value) => {
    expect(readEpisodes(value)).toEqual([]);
  },
);

test('an episode comes out of the state as it went in', () => {
  const open = openEpisodes([], [look({ hold: quarantined })], limits, { now: 0, at: 't' });
  expect(readEpisodes(JSON.parse(JSON.stringify(open)))).toEqual(open);
});
