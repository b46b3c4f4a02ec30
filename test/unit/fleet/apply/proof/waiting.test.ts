import { expect, test } from 'vitest';

import { waitingLine } from '../../../../../src/fleet/apply/proof/waiting.ts';

const wait = (who: string, why: string) => ({ who, why, told: false });

test.each([
  [[wait('h1-0', 'is still starting')], 'waiting for h1-0: is still starting'],
  [
    [wait('h1-0', 'is still starting'), wait('h1-1', 'is still starting')],
    'waiting for h1-0, h1-1: is still starting',
  ],
  [
    [wait('h1-0', 'job 7 is still assigned to agent h1-0'), wait('h1-1', 'is still starting')],
    'waiting for h1-0: job 7 is still assigned to agent h1-0; h1-1: is still starting',
  ],
  [[wait('a', 'x'), wait('b', 'y'), wait('c', 'z'), wait('d', 'w')], 'waiting for a: x; b: y; and 2 more'],
  [
    ['0', '1', '2', '3'].map((name) => wait(`h1-${name}`, 'is still starting')),
    'waiting for h1-[0-3]: is still starting',
  ],
])('%o', (waiting, line) => {
  expect(waitingLine(waiting)).toBe(line);
});
