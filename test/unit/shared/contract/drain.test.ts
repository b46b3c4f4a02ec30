import { expect, test } from 'vitest';

import { drainedBy, drainEnd, drainLine, type Drain } from '../../../../src/shared/contract/drain.ts';

const at = '2026-11-21T12:03:04.000Z';

test.each<[Drain, string, string]>([
  [{ reason: '', at }, 'drained', 'whole host drained, since 2026-11-21 12:03 UTC'],
  [{ reason: 'fan', at: '' }, 'drained: fan', 'whole host drained: fan'],
  [
    { reason: '', at, owner: 'ann@laptop' },
    'drained by ann@laptop',
    'whole host drained by ann@laptop, since 2026-11-21 12:03 UTC',
  ],
  [
    { slot: '1', reason: 'fan', at, owner: 'ann@laptop' },
    'drained by ann@laptop: fan',
    'slot 1 drained by ann@laptop: fan, since 2026-11-21 12:03 UTC',
  ],
  [
    { reason: 'restart Docker', at, owner: 'ann@laptop', run: 'r1' },
    'drained by run r1 of ann@laptop: restart Docker',
    'whole host drained by run r1 of ann@laptop: restart Docker, since 2026-11-21 12:03 UTC',
  ],
])('names owner, slot, reason and time: %j', (drain, by, line) => {
  expect([drainedBy(drain), drainLine(drain)]).toEqual([by, line]);
});

test('a user ends it, or the run that created it', () => {
  expect(drainEnd({ reason: '', at })).toContain('azp-fleet undrain');
  expect(drainEnd({ reason: '', at, run: 'r1' })).toMatch(/^wait for that run.*azp-fleet undrain/);
});
