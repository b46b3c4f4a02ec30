import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'vitest';

import { mistakesIn } from '../fixture.ts';

const example = readFileSync(new URL('../../../../../inventory.example.yaml', import.meta.url), 'utf8')
  // Small, so that many damaged ones can be tried.
  .replaceAll(/ +#.*/g, '');

/** What typing mistakes and bad merges leave behind. */
const splinter = fc.constantFrom(
  ...`{ } [ ] : - " ' *a &a !x <<: \${ # | null 1 a: % --- ?`.split(' ').map((text) => `${text} `),
  '\n',
  '\t',
  '\0',
);

test('however a file is damaged, it is refused with mistakes or it is an inventory', () => {
  fc.assert(
    fc.property(
      fc.nat(example.length),
      fc.nat(200),
      fc.array(splinter, { maxLength: 4 }),
      (at, gone, put) => {
        // Anything but a usage error is thrown on, and fails the test.
        mistakesIn(example.slice(0, at) + put.join('') + example.slice(at + gone));
      },
    ),
    { numRuns: 100 },
  );
});
