import fc from 'fast-check';
import { expect, test } from 'vitest';

import { readRegistries, registriesText } from '../../../../src/shared/contract/registries.ts';

test('what is written is read again, whatever stands in a password', () => {
  const login = fc.record({ user: fc.string(), secret: fc.string({ unit: 'binary' }) });
  fc.assert(
    fc.property(fc.dictionary(fc.domain(), login), (logins) => {
      const text = registriesText(logins);
      expect(readRegistries(text)).toEqual({ ...logins });
      // The fact script digests what `$(cat FILE)` gives: without line ends at the end, and without NUL.
      expect(text).not.toMatch(/\n$|\0/);
    }),
  );
});

test('equal logins have equal text, in whatever order they were written', () => {
  const [a, b] = [
    { user: 'u', secret: '1' },
    { user: 'v', secret: '2' },
  ];
  expect(registriesText({ 'a.example': a, 'b.example': b })).toBe(
    registriesText({ 'b.example': b, 'a.example': a }),
  );
});

test.each(['', '{}', 'null', '[{"registry":"a"}]', '[1]', '[{"registry":"a","user":"u","secret":5}]'])(
  '%j is not such a file',
  (text) => expect(readRegistries(text)).toBeUndefined(),
);
