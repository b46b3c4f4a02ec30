import fc from 'fast-check';
import { expect, test } from 'vitest';

import { readRegistries, registriesText } from '../../../../src/shared/contract/registries.ts';

test('logins are read as written, with any password', () => {
  const login = fc.record({ user: fc.string(), secret: fc.string({ unit: 'binary' }) });
  fc.assert(
    fc.property(fc.dictionary(fc.domain(), login), (logins) => {
      const text = registriesText(logins);
      expect(readRegistries(text)).toEqual({ ...logins });
      // The fact script digests `$(cat FILE)`, which has no final newlines and no NUL.
      expect(text).not.toMatch(/\n$|\0/);
    }),
  );
});

test('equal logins have equal text, in any order', () => {
  const [a, b] = [
    { user: 'u', secret: '1' },
    { user: 'v', secret: '2' },
  ];
  expect(registriesText({ 'a.example': a, 'b.example': b })).toBe(
    registriesText({ 'b.example': b, 'a.example': a }),
  );
});

test.each(['', '{}', 'null', '[{"registry":"a"}]', '[1]', '[{"registry":"a","user":"u","secret":5}]'])(
  '%j is invalid',
  (text) => expect(readRegistries(text)).toBeUndefined(),
);
