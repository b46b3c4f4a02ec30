import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'vitest';

import { mistakesIn } from '../fixture.ts';

const example = readFileSync(new URL('../../../../../inventory.example.yaml', import.meta.url), 'utf8')
  // Without comments, to try more damaged files.
  .replaceAll(/ +#.*/g, '');

/** The remains of typing mistakes and bad merges. */
const splinter = fc.constantFrom(
  ...`{ } [ ] : - " ' *a &a !x <<: \${ # | null 1 a: % --- ?`.split(' ').map((text) => `${text} `),
  '\n',
  '\t',
  '\0',
);

test('any damaged file is an inventory or is rejected with mistakes', () => {
  fc.assert(
    fc.property(
      fc.nat(example.length),
      fc.nat(200),
      fc.array(splinter, { maxLength: 4 }),
      (at, gone, put) => {
        // Any error other than a usage error fails the test.
        mistakesIn(example.slice(0, at) + put.join('') + example.slice(at + gone));
      },
    ),
    { numRuns: 100 },
  );
});
