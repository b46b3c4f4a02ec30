import { expect, test } from 'vitest';

import { percentile } from '../../../bench/percentile.ts';
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
