import fc from 'fast-check';
import { span, type Act } from './acts/act.ts';
import { agents, jobs } from './acts/agents.ts';
import { machine } from './acts/machine.ts';
import { kills, managers } from './acts/managers.ts';
import { people } from './acts/people.ts';
import { service } from './acts/service.ts';

import type { Moment } from './boundary.ts';

/** An act, and when: a time after the previous step, or at the n-th change that the manager makes from then on. */
export interface Step extends Act {
  readonly when: { readonly ms: number } | { readonly nth: number; readonly moment: Moment };
}

const acts = fc.oneof(
  { arbitrary: jobs, weight: 6 },
  { arbitrary: agents, weight: 5 },
  { arbitrary: managers, weight: 5 },
  { arbitrary: machine, weight: 5 },
  { arbitrary: service, weight: 5 },
  { arbitrary: people, weight: 5 },
);

const scheduled: fc.Arbitrary<Step['when']> = fc.record({
  nth: fc.integer({ min: 1, max: 8 }),
  moment: fc.constantFrom<Moment>('before', 'after', 'answered'),
});

const when: fc.Arbitrary<Step['when']> = fc.oneof(
  { arbitrary: span.map((ms) => ({ ms })), weight: 3 },
  { arbitrary: scheduled, weight: 2 },
);

/** One step of a world's history. */
export const steps: fc.Arbitrary<Step> = fc
  .oneof(
    { arbitrary: fc.tuple(when, acts), weight: 6 },
    // Kills in the middle of the manager's changes.
    { arbitrary: fc.tuple(scheduled, kills), weight: 1 },
  )
  .map(([moment, { name, carryOut }]) => ({
    when: moment,
    name,
    carryOut,
    toString: () =>
      `${'ms' in moment ? `after ${moment.ms} ms` : `at change ${moment.nth}, ${moment.moment}`}: ${name}`,
  }));
