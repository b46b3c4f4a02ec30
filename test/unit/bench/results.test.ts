import { expect, test } from 'vitest';

import { exponent, percentile, ratios, spread } from '../../../bench/statistics.ts';
import { withSection } from '../../../bench/results.ts';

test('a section is added at the end, and replaced where it stands', () => {
  const one = withSection('# Title\n', 'ssh', 'fast');
  const two = withSection(one, 'soak', 'clean');
  expect(two).toBe('# Title\n\n## ssh\n\nfast\n\n## soak\n\nclean\n');
  expect(withSection(two, 'ssh', 'faster')).toBe('# Title\n\n## ssh\n\nfaster\n\n## soak\n\nclean\n');
});

test.each([
  [[], 0.5, 0],
  [[5], 0.95, 5],
  [[3, 1, 2, 4], 0.5, 2],
  [[3, 1, 2, 4], 1, 4],
])('percentile of %j at %d is %d', (values, share, expected) => {
  expect(percentile(values, share)).toBe(expected);
});

test('the spread of some rounds is their median and range; no rounds are no spread', () => {
  expect(spread([4, 1, 9])).toEqual({ median: 4, least: 1, most: 9 });
  expect(spread([])).toEqual({ median: 0, least: 0, most: 0 });
});

test('ratios are formed round by round; a round that only one has is left out', () => {
  expect(ratios([10, 30, 8], [5, 10])).toEqual([2, 3]);
  expect(ratios([10], [5, 10])).toEqual([2]);
});

test.each([
  ['linear', [1, 1], [10, 10], 1],
  ['quadratic', [10, 100], [100, 10_000], 2],
  ['constant', [10, 7], [1000, 7], 0],
] as const)('the exponent of a %s cost', (_, first, last, expected) => {
  expect(exponent([first, last])).toBeCloseTo(expected, 10);
});
