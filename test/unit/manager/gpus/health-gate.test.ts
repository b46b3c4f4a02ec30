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
])('closed %i times within an hour, it rests %i minutes', (closings, minutes) => {
  expect(pauseMs(closings)).toBe(minutes * minute);
});

/** Looks at these minutes; `!`: something is found. What is left of the rest after the last one, in minutes. */
function after(looks: readonly string[]): { readonly gate: HealthGate; readonly rest: number } {
  let gate = newGate;
  let at = 0;
  for (const look of looks) {
    at = Number.parseFloat(look) * minute;
    gate = afterCheck(gate, { at, found: look.endsWith('!') ? 'it is lost' : undefined }, (ms) => ms);
  }
  return { gate, rest: Math.max(0, gate.until - at) / minute };
}

test.each<[string, readonly string[], number, number]>([
  ['never closed', ['0', '1'], 0, 0],
  ['closed', ['0!'], 1, 0],
  ['closed for long: one closing', ['0!', '1!', '2!', '3!', '4!', '5'], 1, 0],
  ['twice', ['0!', '1', '2!', '3'], 2, 0],
  ['three times', ['0!', '1', '2!', '3', '4!'], 3, 10],
  ['three times, a minute ago', ['0!', '1', '2!', '3', '4!', '5'], 3, 9],
  [
    'again while it rests: no closing, and the rest begins anew',
    ['0!', '1', '2!', '3', '4!', '5', '9!', '10'],
    3,
    9,
  ],
  ['again after the rest', ['0!', '1', '2!', '3', '4!', '5', '15', '16!'], 4, 20],
  ['what is an hour old counts no more', ['0!', '1', '2!', '3', '61!', '62'], 2, 0],
  ['what lasts longer than the hour leaves no rest', ['0!', '1', '2!', '3', '4!', '30!', '70!', '71'], 0, 0],
])('%s', (_, looks, closings, rest) => {
  const seen = after(looks);
  expect(seen.gate.closings).toHaveLength(closings);
  expect(seen.rest).toBe(rest);
});
