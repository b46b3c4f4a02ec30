import fc from 'fast-check';
import { expect, test } from 'vitest';

import { cpuShares, gibText, memoryShare, bytes, sizeOf } from '../../../../src/shared/contract/slots.ts';

const gib = 1024;

test.each([
  ['two slots', 128 * gib, 2, 60 * gib],
  ['MemTotal of a machine with 128 GiB', 128_706, 2, 58.75 * gib],
  ['eight slots', 2048 * gib, 8, 252 * gib],
  ['a small machine keeps 2 GiB', 8 * gib, 2, 3 * gib],
  ['no slot has less than the minimum', 4 * gib, 8, gib],
  ['no slot', 128 * gib, 0, undefined],
  ['a machine with unknown size', 0, 2, undefined],
  ['a machine with an invalid size', Number.NaN, 2, undefined],
])('memory of each: %s', (_, hostMiB, slots, expected) => {
  expect(memoryShare(hostMiB, slots)).toBe(expected);
});

test('all slots together leave the reserve, and a few MiB more or less change nothing for most', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 16 * gib, max: 8192 * gib }),
      fc.integer({ min: 1, max: 8 }),
      (host, slots) => {
        const each = memoryShare(host, slots) ?? 0;
        expect(each % 256).toBe(0);
        expect(each * slots).toBeLessThanOrEqual(host - Math.min(host / 16, 32 * gib));
        expect(each * slots).toBeGreaterThan(host - Math.max(2 * gib, host / 16) - slots * 256);
      },
    ),
  );
});

test.each([
  ['nothing said', undefined, 64, 8, 1024],
  ['its equal part', 8, 64, 8, 1024],
  ['twice its part', 16, 64, 8, 2048],
  ['half', 4, 64, 8, 512],
  ['next to nothing', 0.001, 64, 1, 2],
  ['more than there is', 1_000_000, 64, 8, 262_144],
  ['a machine with unknown size', 8, 0, 8, 1024],
])('CPU shares: %s', (_, cpus, machine, slots, expected) => {
  expect(cpuShares(cpus, machine, slots)).toBe(expected);
});

test.each([
  [60 * gib, '60 GiB'],
  [58.75 * gib, '58.75 GiB'],
  [128_706, '125.69 GiB'],
])('%d MiB read', (mib, text) => {
  expect(gibText(mib)).toBe(text);
});

test.each([
  ['64g', 64 * 1024 ** 3],
  ['512m', 512 * 1024 ** 2],
  ['1.5g', 1.5 * 1024 ** 3],
  ['2GiB', 2 * 1024 ** 3],
  ['100', 100],
])('size %s', (text, size) => {
  expect(bytes(text)).toBe(size);
});

test('an invalid size is refused', () => {
  expect(() => bytes('lots')).toThrow('lots');
  expect(sizeOf('lots')).toBeUndefined();
});
