import { expect, test } from 'vitest';

import { defined } from '../../../../src/shared/base/objects.ts';
import {
  drainedBy,
  drainEnd,
  drainLine,
  type Drain,
  isResumedBy,
  ownerIn,
} from '../../../../src/shared/contract/drain.ts';

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
    { reason: '', at, owner: 'ann@laptop', until: '2026-11-21T17:00:00.000Z' },
    'drained by ann@laptop',
    'whole host drained by ann@laptop, since 2026-11-21 12:03 UTC, until 2026-11-21 17:00 UTC',
  ],
  [
    { reason: 'restart Docker', at, owner: 'ann@laptop', run: 'r1' },
    'drained by run r1 of ann@laptop: restart Docker',
    'whole host drained by run r1 of ann@laptop: restart Docker, since 2026-11-21 12:03 UTC',
  ],
])('names owner, slot, reason and time: %j', (drain, by, line) => {
  expect([drainedBy(drain), drainLine(drain)]).toEqual([by, line]);
  expect(ownerIn(by)).toBe(drain.run === undefined ? drain.owner : undefined);
});

const run = 'r1';

test.each<[string, Drain, string]>([
  ['a user’s', { reason: '', at }, 'run "azp-fleet undrain h200-1" when it may take jobs again'],
  [
    'a known user’s',
    { reason: '', at, owner: 'ann@laptop' },
    'run "azp-fleet undrain h200-1 --of ann" when it may take jobs again',
  ],
  [
    'one whose owner is a hostile host’s',
    { reason: '', at, owner: 'a; reboot@b' },
    `run "azp-fleet undrain h200-1 --of 'a; reboot'" when it may take jobs again`,
  ],
  [
    'a user’s on a slot',
    { slot: '3', reason: '', at },
    'run "azp-fleet undrain h200-1/3" when it may take jobs again',
  ],
  [
    'one whose slot is a hostile host’s',
    { slot: '3; reboot', reason: '', at },
    `run "azp-fleet undrain 'h200-1/3; reboot'" when it may take jobs again`,
  ],
  [
    'a run’s',
    { reason: '', at, run },
    'wait for that run to end; if it was interrupted, run "azp-fleet provision h200-1": it checks the host and enables its agents again (or run "azp-fleet undrain h200-1")',
  ],
  [
    'a reboot’s',
    { reason: '', at, run, command: 'reboot' },
    'wait for that run to end; if it was interrupted, run "azp-fleet reboot h200-1": it checks the host and enables its agents again (or run "azp-fleet undrain h200-1")',
  ],
  [
    'one of a later release',
    { reason: '', at, run, command: 'constructor' },
    'wait for that run to end; if it was interrupted, run "azp-fleet undrain h200-1"',
  ],
])('the next action names the host: %s', (_, drain, expected) => {
  expect(drainEnd(drain, 'h200-1')).toBe(expected);
});

test.each<[string | undefined, boolean, boolean]>([
  ['provision', true, false],
  ['reboot', false, true],
  ['remove', false, false],
  // Of an earlier release.
  [undefined, true, true],
])('a drain of %s is resumed by a run of the same command', (command, byProvision, byReboot) => {
  const drain = { reason: '', at, run, ...defined({ command }) };
  expect([isResumedBy('provision', drain), isResumedBy('reboot', drain)]).toEqual([byProvision, byReboot]);
  const { run: _, ...personal } = drain;
  expect(isResumedBy('provision', personal)).toBe(false);
});
