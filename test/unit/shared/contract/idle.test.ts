import { expect, test } from 'vitest';

import { idleLine, offReason, offSince, type IdleStatus } from '../../../../src/shared/contract/idle.ts';

const stays = { what: 'lab is logged in since 2026-11-22 13:05 UTC', next: 'log out' };

test.each<[Partial<IdleStatus>, string]>([
  [{ idleS: 0 }, 'idle for 0 s, powers off in 30 min'],
  [{ idleS: 12 * 60 + 5 }, 'idle for 12 min, powers off in 17 min'],
  [{ idleS: 1770 }, 'idle for 29 min, powers off in 30 s'],
  [{ idleS: 5000 }, 'idle for 1 h 23 min, powers off in 0 s'],
  [{ idleS: 1800, ending: true }, 'idle for 30 min, powers off now'],
  [{ idleS: 1800, stays }, 'stays on: lab is logged in since 2026-11-22 13:05 UTC'],
  [
    { idleS: 720, run: '/usr/local/sbin/deallocate' },
    'idle for 12 min, runs /usr/local/sbin/deallocate in 18 min',
  ],
])('%j: %s', (changes, line) => {
  expect(idleLine({ afterS: 1800, run: 'poweroff', idleS: 0, ...changes })).toBe(line);
});

test('the reason in the pool is parsed, and no other reason', () => {
  const reason = offReason('2026-11-22T13:05:40.000Z');
  expect(reason).toBe('powered off: idle since 2026-11-22 13:05 UTC');
  expect(offSince(reason)).toBe('idle since 2026-11-22 13:05 UTC');
  expect(offSince('drained by ann@laptop: new fan')).toBeUndefined();
  expect(offSince(undefined)).toBeUndefined();
});
