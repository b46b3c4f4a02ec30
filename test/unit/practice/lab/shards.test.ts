import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

import { otherNodes, recordedDurations, shardsOf } from '../../../lab/support/shards.ts';

test('the longest files go to different shards, and shorter ones fill up', () => {
  const durations = { a: 100, b: 90, c: 50, d: 40, e: 10 };
  expect(shardsOf(['e', 'd', 'c', 'b', 'a'], 2, durations, 3)).toEqual([
    ['a', 'd', 'e'],
    ['b', 'c'],
  ]);
});

test('the first shard gets less where it runs the unit tests on other Node versions', () => {
  const durations = { a: 100, b: 90, c: 50, [otherNodes]: 60 };
  expect(shardsOf(['a', 'b', 'c'], 2, durations, 3)).toEqual([['c'], ['a', 'b']]);
});

test('every file is in exactly one shard, and every recorded duration is of a file', () => {
  const lab = join(import.meta.dirname, '../../../lab');
  const names = globSync('long/*.test.ts', { cwd: lab }).map((name) => basename(name));
  const shards = shardsOf(names, 4, recordedDurations(), 3);
  expect(shards.flat().toSorted()).toEqual(names.toSorted());
  const all = [...names, ...globSync('*.test.ts', { cwd: lab }), otherNodes];
  expect(Object.keys(recordedDurations()).filter((name) => !all.includes(name))).toEqual([]);
});
