import { expect, test } from 'vitest';

import { expiryMistake } from '../../../../src/cli/setup/azure.ts';

const now = Date.parse('2026-11-22T12:00:00Z');

test.each([
  ['2026-11-23', undefined],
  ['2026-11-22', /^2026-11-22 is in the past/],
  ['2020-01-01', /^2020-01-01 is in the past/],
  ['2027-02-31', /^Year-month-day/],
  ['soon', /^Year-month-day/],
])('an expiry on %s', (text, mistake) => {
  if (mistake === undefined) expect(expiryMistake(text, now)).toBeUndefined();
  else expect(expiryMistake(text, now)).toMatch(mistake);
});
