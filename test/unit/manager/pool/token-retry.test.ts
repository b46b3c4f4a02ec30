import { expect, test } from 'vitest';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { TokenRetry } from '../../../../src/manager/pool/watch.ts';

/** Runs rounds with a token and an answer of the pools each; returns the rounds after which the pools are read again. */
function tokenRounds(rounds: readonly (readonly [refused: boolean, token: string | undefined])[]) {
  const again: number[] = [];
  let round = 0;
  const watch = new TokenRetry(
    async () => {
      const token = rounds[round]?.[1];
      if (token === undefined) throw new Error('the file is missing');
      return new Secret(token);
    },
    {
      get problems() {
        return rounds[round]?.[0] === true ? [{ code: 'azure.auth' as const }] : [];
      },
      readSoon: () => again.push(round),
    },
  );
  return {
    again,
    async run() {
      for (; round < rounds.length; round += 1) await watch.check();
      return again;
    },
  };
}

test.each<[string, readonly (readonly [boolean, string | undefined])[], number[]]>([
  [
    'not refused',
    [
      [false, 'a'],
      [false, 'b'],
    ],
    [],
  ],
  [
    'refused and unchanged',
    [
      [true, 'a'],
      [true, 'a'],
      [true, 'a'],
    ],
    [],
  ],
  [
    'refused, then replaced',
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
    [
      [true, 'a'],
      [true, 'b'],
      [true, 'c'],
    ],
    [1, 2],
  ],
  [
    'missing while it is replaced',
    [
      [true, 'a'],
      [true, undefined],
      [true, 'b'],
    ],
    [2],
  ],
  [
    'replaced before it is refused again',
    [
      [true, 'a'],
      [false, 'b'],
      [true, 'b'],
      [true, 'b'],
    ],
    [],
  ],
])('a credential: %s', async (_, rounds, again) => {
  expect(await tokenRounds(rounds).run()).toEqual(again);
});
