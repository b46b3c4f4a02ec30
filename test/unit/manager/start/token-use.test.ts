import { expect, test } from 'vitest';
import { TokenUse, TokenWatch } from '../../../../src/manager/start/token-use.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { StillClock } from '../../../support/clock.ts';

/** The pools' answer, the token in the file, and the copy that systemd loaded; undefined: no token. */
type Round = readonly [refused: boolean, file: string | undefined, loaded?: string];

/** Runs the rounds; returns those after which the pools are read again, and the token that the next request has. */
async function rounds(list: readonly Round[], used: string | undefined) {
  const again: number[] = [];
  let round = 0;
  const one = (text: string | undefined): Secret => {
    if (text === undefined) throw new Error('the file is missing');
    return new Secret(text);
  };
  const token = new TokenUse({
    read: async () => one(round < 0 ? used : (list[round]?.[1] ?? list[round]?.[2])),
    installed: async () => one(list[round]?.[1]),
    machineId: 'machine-1',
    clock: new StillClock(),
  });
  const renewed: number[] = [];
  token.follow({
    kind: 'pat',
    authorization: () => Promise.reject(new Error('not called')),
    renew: () => renewed.push(round) > 0,
    accepted: () => undefined,
  });
  round = -1;
  if (used !== undefined) await token.read();
  const watch = new TokenWatch(token, {
    get problems() {
      return list[round]?.[0] === true ? [{ code: 'azure.auth' as const }] : [];
    },
    readSoon: () => again.push(round),
  });
  for (round = 0; round < list.length; round += 1) await watch.check();
  expect(renewed).toEqual(again);
  return again;
}

test.each<[string, string | undefined, readonly Round[], number[]]>([
  [
    'unchanged',
    'a',
    [
      [false, 'a'],
      [false, 'a'],
    ],
    [],
  ],
  [
    'replaced while it is accepted',
    'a',
    [
      [false, 'a'],
      [false, 'b'],
      [false, 'b'],
    ],
    [1],
  ],
  [
    'replaced before the first check',
    'a',
    [
      [false, 'b'],
      [false, 'b'],
    ],
    [0],
  ],
  [
    'replaced and restored',
    'a',
    [
      [false, 'b'],
      [false, 'a'],
    ],
    [0, 1],
  ],
  [
    'refused and unchanged',
    'a',
    [
      [true, 'a'],
      [true, 'a'],
      [true, 'a'],
    ],
    [],
  ],
  [
    'refused, then replaced',
    'a',
    [
      [true, 'a'],
      [true, 'a'],
      [true, 'b'],
      [true, 'b'],
    ],
    [2],
  ],
  [
    'refused and replaced twice',
    'a',
    [
      [true, 'a'],
      [true, 'b'],
      [true, 'c'],
    ],
    [1, 2],
  ],
  [
    'missing while it is replaced',
    'a',
    [
      [true, 'a'],
      [true, undefined],
      [true, 'b'],
    ],
    [2],
  ],
  [
    'removed while it is accepted: not the older copy',
    'b',
    [
      [false, 'b'],
      [false, undefined, 'a'],
    ],
    [],
  ],
  [
    'removed once it is refused: the copy',
    'b',
    [
      [true, 'b'],
      [true, undefined, 'a'],
    ],
    [1],
  ],
  [
    'not used yet',
    undefined,
    [
      [false, 'a'],
      [false, 'a'],
    ],
    [],
  ],
  [
    'not readable at the start',
    undefined,
    [
      [true, undefined],
      [true, 'a'],
      [true, 'a'],
    ],
    [1],
  ],
])('a token: %s', async (_, used, list, again) => {
  expect(await rounds(list, used)).toEqual(again);
});

test('the status has the keyed digest of the token that the server accepted last, and since when', () => {
  const clock = new StillClock();
  const read = () => Promise.reject(new Error('not called'));
  const token = new TokenUse({ read, installed: read, machineId: 'machine-1', clock });
  expect(token.status).toEqual({});
  token.accepted(new Secret('a'));
  const first = token.status;
  expect(first.accepted).toBe(sha256('machine-1:a'));
  clock.pass(60_000);
  token.accepted(new Secret('a'));
  expect(token.status).toBe(first);
  token.accepted(new Secret('b'));
  expect(token.status.accepted).toBe(sha256('machine-1:b'));
  expect(Date.parse(token.status.since ?? '') - Date.parse(first.since ?? '')).toBe(60_000);
});
