import { expect, test } from 'vitest';
import { bytes, sizeOf } from '../../../../src/shared/contract/size.ts';

test.each([
  ['64g', 64 * 1024 ** 3],
  ['512m', 512 * 1024 ** 2],
  ['1.5g', 1.5 * 1024 ** 3],
  ['2GiB', 2 * 1024 ** 3],
  ['100', 100],
])('size %s', (text, size) => {
  expect(bytes(text)).toBe(size);
});

test('a size that is none is refused', () => {
  expect(() => bytes('lots')).toThrow('lots');
  expect(sizeOf('lots')).toBeUndefined();
});
