import { expect, test } from 'vitest';
import { afterCheck, type HealthGate, newGate, pauseMs } from '../../../../src/manager/gpus/health-gate.ts';

const minute = 60_000;

test.each([
  [0, 0],
  [1, 0],
  [2, 0],
  [3, 10],
  [4, 20],
  [5, 40],
  [6, 60],
  [50, 60],
])('closed %i times within an hour, the pause is %i minutes', (closings, minutes) => {
  expect(pauseMs(closings)).toBe(minutes * minute);
});

/** Checks at these minutes, `!` with a finding. Returns the gate, and the remaining pause in minutes. */
function after(checks: readonly string[]): { readonly gate: HealthGate; readonly pause: number } {
  let gate = newGate;
  let at = 0;
  for (const check of checks) {
    at = Number.parseFloat(check) * minute;
    gate = afterCheck(gate, { at, found: check.endsWith('!') ? 'it is lost' : undefined }, (ms) => ms);
  }
  return { gate, pause: Math.max(0, gate.until - at) / minute };
}

test.each<[string, readonly string[], number, number]>([
  ['never closed', ['0', '1'], 0, 0],
  ['closed', ['0!'], 1, 0],
  ['closed for some time: one closing', ['0!', '1!', '2!', '3!', '4!', '5'], 1, 0],
  ['twice', ['0!', '1', '2!', '3'], 2, 0],
  ['three times', ['0!', '1', '2!', '3', '4!'], 3, 10],
  ['three times, a minute ago', ['0!', '1', '2!', '3', '4!', '5'], 3, 9],
  [
    'a finding during the pause: no closing, and the pause starts again',
    ['0!', '1', '2!', '3', '4!', '5', '9!', '10'],
    3,
    9,
  ],
  ['again after the pause', ['0!', '1', '2!', '3', '4!', '5', '15', '16!'], 4, 20],
  ['closings of more than an hour ago', ['0!', '1', '2!', '3', '61!', '62'], 2, 0],
  [
    'a finding for longer than an hour leaves no pause',
    ['0!', '1', '2!', '3', '4!', '30!', '70!', '71'],
    0,
    0,
  ],
])('%s', (_, checks, closings, pause) => {
  const seen = after(checks);
  expect(seen.gate.closings).toHaveLength(closings);
  expect(seen.pause).toBe(pause);
});
