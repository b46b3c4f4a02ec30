// A short `npm run soak -- --model` with fixed seeds: a failure is a regression.
import fc from 'fast-check';
import { expect } from 'vitest';

import { histories, newTally, tryOut } from '../../support/model/trial.ts';
import { fault } from '../../support/fault.ts';

const worlds = 30;
const longest = 30;

fault(
  'manager-killed',
  'no failure between two calls loses a job, a key or a slot',
  async () => {
    const tally = newTally();
    const { counterexample, errorInstance } = await fc.check(
      fc.asyncProperty(histories(longest), (history) => tryOut(history, tally)),
      { seed: 340, numRuns: worlds, endOnFailure: true },
    );
    const [history] = counterexample ?? [];
    expect(errorInstance, history?.steps.map(String).join('\n')).toBeNull();
    // The faults must have occurred.
    expect(tally.steps).toBeGreaterThan(500 * worlds);
    expect(tally.kills).toBeGreaterThan(worlds);
    expect(tally.ends).toBeGreaterThan(worlds / 10);
    expect(tally.removals).toBeGreaterThan(worlds / 2);
    expect(tally.pauses).toBeGreaterThan(worlds / 3);
    expect(tally.deletions).toBeGreaterThan(worlds / 4);
    expect(tally.requestedPauses).toBeGreaterThan(worlds / 2);
  },
  900_000,
);
