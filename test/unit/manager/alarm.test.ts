import { expect, test } from 'vitest';

import { Alarm, repeat } from '../../../src/manager/alarm.ts';
import { silentLogger } from '../../../src/shared/base/log.ts';
import { StillClock } from '../../support/clock.ts';

test('a loop whose alarm rings at every turn still pauses for two seconds', async () => {
  const clock = new StillClock();
  const stop = new AbortController();
  const alarm = new Alarm();
  const turns: number[] = [];
  await repeat({ clock, log: silentLogger }, { ms: 20_000, signal: stop.signal, alarm }, async () => {
    turns.push(clock.monotonic());
    alarm.ring();
    if (turns.length === 4) stop.abort();
  });
  expect(turns).toEqual([0, 2000, 4000, 6000]);
});

test('a loop without an alarm waits its whole interval', async () => {
  const clock = new StillClock();
  const stop = new AbortController();
  const turns: number[] = [];
  await repeat({ clock, log: silentLogger }, { ms: 20_000, signal: stop.signal }, async () => {
    turns.push(clock.monotonic());
    if (turns.length === 3) stop.abort();
  });
  expect(turns).toEqual([0, 20_000, 40_000]);
});
