import { expect, test } from 'vitest';

import { hostLockProbe } from '../../../../src/fleet/facts/probes/host-lock.ts';

test.each([
  ['no holder', '', undefined],
  [
    'a run',
    'held\n{"who":"ann@laptop","command":"azp-fleet provision","since":"2026-11-21T00:00:00Z","id":"7"}\n',
    { who: 'ann@laptop', command: 'azp-fleet provision', since: '2026-11-21T00:00:00Z' },
  ],
  ['a holder without a note', 'held\n', { who: 'another user', command: 'a command', since: '' }],
  ['a holder with an invalid note', 'held\n[7]', { who: 'another user', command: 'a command', since: '' }],
])('who holds the lock: %s', (_, stdout, who) => {
  expect(hostLockProbe.parse(stdout)).toEqual(who);
});
