// --check of a monitoring plugin has exit codes of its own, also where the arguments cannot be parsed.
import { expect, test } from 'vitest';

import { globalFlagsIn } from '../../../src/cli/main.ts';

test.each([
  ['status --check', true],
  ['--check status --no-such-option', true],
  ['status', false],
  ['version --check', false],
  ['exec -- status --check', false],
])('azp-fleet %s: %j', (line, check) => {
  expect(globalFlagsIn(line.split(' ')).check).toBe(check);
});
