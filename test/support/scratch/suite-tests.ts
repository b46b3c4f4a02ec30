import { describe, expect, it } from 'vitest';

import { expectedOf, outcomeOf, type ScriptSuite } from './case.ts';

/** Runs each case as a test. */
export function testSuite(suite: ScriptSuite): void {
  describe(suite.name, () => {
    it.each(suite.cases.map((each) => [each.name, each] as const))('%s', async (_, each) => {
      expect(await outcomeOf(suite, each)).toEqual(expectedOf(each));
    });
  });
}
