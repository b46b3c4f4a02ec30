import fc from 'fast-check';
import { expect, test } from 'vitest';

import { fold } from '../../../../src/cli/render/lines.ts';
import { outcomeText } from '../../../../src/cli/render/outcome.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', '/', '-'), minLength: 1, maxLength: 70 });
const outcome = fc
  .tuple(fc.string({ unit: fc.constantFrom('g', 'p', '1'), minLength: 1, maxLength: 63 }), fc.array(word))
  .map(([host, words]) => ({
    host,
    state: 'failed' as const,
    changes: 1,
    problem: { code: 'change.failed' as const, what: words.join(' ') },
  }));

test('no word of the summary is broken between 40 and 140 columns', () => {
  fc.assert(
    fc.property(
      fc.array(outcome, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 40, max: 140 }),
      (outcomes, width) => {
        const text = fold(outcomeText(outcomes, { color: false, width }), width);
        for (const line of text.split('\n'))
          if (line.length > width) expect(line.trim(), line).not.toContain(' ');
      },
    ),
  );
});
