import { execFileSync } from 'node:child_process';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { quote, Raw, sh } from '../../../../src/shared/base/shell.ts';

test('every argument reaches a POSIX shell unchanged', () => {
  const argument = fc
    .string({ unit: 'binary' })
    .filter((text) => !text.includes('\0') && text.isWellFormed());
  fc.assert(
    fc.property(fc.array(argument, { minLength: 20, maxLength: 40 }), (list) => {
      const script = list.map((item) => `printf '%s\\0' ${quote(item)}`).join('\n');
      const output = execFileSync('sh', { input: script }).toString();
      expect(output.split('\0').slice(0, -1)).toEqual(list);
    }),
    { numRuns: 15 },
  );
});

test.each([
  [sh`echo ${'a b'}`, "echo 'a b'"],
  [sh`rm -f ${['x', "y'z", '']}`, `rm -f x 'y'\\''z' ''`],
  [sh`sleep ${5}; ${new Raw('exit 1')}`, 'sleep 5; exit 1'],
  [sh`printf '\n' ${'$HOME'}`, `printf '\\n' '$HOME'`],
])('%s', (built, expected) => {
  expect(built).toBe(expected);
});

test('NUL cannot be an argument', () => {
  expect(() => quote('a\0b')).toThrow('NUL');
});
