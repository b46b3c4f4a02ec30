import { expect, test } from 'vitest';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { NewToken } from '../../../../src/manager/pool/watch.ts';

/** What is read at each look, what the pools say then, and at which looks they are looked at again. */
function looks(rounds: readonly (readonly [refused: boolean, token: string | undefined])[]) {
  const again: number[] = [];
  let round = 0;
  const watch = new NewToken(
    async () => {
      const token = rounds[round]?.[1];
      if (token === undefined) throw new Error('the file is away');
      return new Secret(token);
    },
    {
      get problems() {
        return rounds[round]?.[0] === true ? [{ code: 'azure.auth' as const }] : [];
      },
      lookSoon: () => again.push(round),
    },
  );
  return {
    again,
    async run() {
      for (; round < rounds.length; round += 1) await watch.look();
      return again;
    },
  };
}

test.each<[string, readonly (readonly [boolean, string | undefined])[], number[]]>([
  [
    'nothing is refused',
    [
      [false, 'a'],
      [false, 'b'],
    ],
    [],
  ],
  [
    'refused, and the same',
    [
      [true, 'a'],
      [true, 'a'],
      [true, 'a'],
    ],
    [],
  ],
  [
    'refused, then another one',
    [
      [true, 'a'],
      [true, 'a'],
      [true, 'b'],
      [true, 'b'],
    ],
    [2],
  ],
  [
    'refused, another one, and that is refused, too, until a third',
    [
      [true, 'a'],
      [true, 'b'],
      [true, 'c'],
    ],
    [1, 2],
  ],
  [
    'away for a moment while it is replaced',
    [
      [true, 'a'],
      [true, undefined],
      [true, 'b'],
    ],
    [2],
  ],
  [
    'refused again later, another one since',
    [
      [true, 'a'],
      [false, 'b'],
      [true, 'b'],
      [true, 'b'],
    ],
    [],
  ],
])('a credential: %s', async (_, rounds, again) => {
  expect(await looks(rounds).run()).toEqual(again);
});
