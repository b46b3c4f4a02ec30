import fc from 'fast-check';
import { expect, test } from 'vitest';

import { expand } from '../../../../../src/fleet/inventory/document/document.ts';

test.each([
  ['plain', 'plain'],
  ['${A}', 'one'],
  ['x${A}y${A}', 'xoneyone'],
  ['${NONE:-two}', 'two'],
  ['${NONE:-}', ''],
  ['${EMPTY:-two}', 'two'],
  ['${EMPTY}', ''],
  ['${A:-two}', 'one'],
  ['$${A}', '${A}'],
  ['$A', '$A'],
  ['${NONE:-a:-b}', 'a:-b'],
])('%s becomes %j', (text, value) => {
  expect(expand(text, { A: 'one', EMPTY: '' })).toEqual({ value, unset: [] });
});

test.each([
  ['a ${NONE} b ${OTHER}', ['NONE@2', 'OTHER@12']],
  ['${1X}', ['@0']],
  ['${A', ['@0']],
  ['${A-x}', ['@0']],
])('in %s %j is unset', (text, open) => {
  const { unset } = expand(text, { A: 'one' });
  expect(unset.map(({ variable, offset }) => `${variable}@${offset}`)).toEqual(open);
});

const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);

test('the value of a variable is not expanded again', () => {
  fc.assert(
    fc.property(name, fc.string(), (variable, value) => {
      expect(expand(`<\${${variable}}>`, { [variable]: value })).toEqual({ value: `<${value}>`, unset: [] });
    }),
  );
});

test('any text is unchanged if its ${ are written as $${', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes('$$') && !text.endsWith('$'));
      expect(expand(text.replaceAll('${', '$${'), {}).value).toBe(text);
    }),
  );
});
