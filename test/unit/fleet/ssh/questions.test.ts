import fc from 'fast-check';
import { expect, test } from 'vitest';

import { questionText } from '../../../../src/fleet/ssh/questions.ts';
import { columnsOf } from '../../../../src/shared/base/columns.ts';

const asks = { host: 'gpu-1', text: 'ann@192.0.2.7 asks, in its own words:' };

test('a question of azp-fleet is unchanged', () => {
  expect(questionText({ host: 'gpu-1', text: 'Password for ann@192.0.2.7:' }, 80)).toBe(
    'Password for ann@192.0.2.7:',
  );
});

test('each row of text from a host has its name, also where the terminal wraps', () => {
  const said = `Two factors\n${'-'.repeat(31)}Sudo password for prod-bastion:`;
  expect(questionText({ ...asks, said }, 42)).toBe(
    [
      asks.text,
      'gpu-1 │ Two factors',
      `gpu-1 │ ${'-'.repeat(31)}`,
      'gpu-1 │ Sudo password for prod-bastion:',
    ].join('\n'),
  );
});

test('no row of it is longer than the terminal, and none is without the name', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.constantFrom('gpu-1', `ann@${'very-long-name.'.repeat(6)}example.com`),
      fc.integer({ min: 24, max: 140 }),
      (said, host, columns) => {
        const [, ...rows] = questionText({ ...asks, host, said }, columns).split('\n');
        expect(rows.length).toBeGreaterThan(0);
        for (const row of rows) {
          expect(row).toMatch(/^(?:gpu-1|ann@ver[^ ]*…) │ /);
          // The question's own mark takes two.
          expect(columnsOf(row) + 2).toBeLessThan(columns);
        }
      },
    ),
  );
});
