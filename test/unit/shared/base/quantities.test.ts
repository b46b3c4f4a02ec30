import { describe, expect, test } from 'vitest';

import { parseRate } from '../../../../src/shared/base/quantities.ts';

describe('a data rate in bytes per second', () => {
  test.each([
    ['50MiB/s', 52_428_800],
    ['50 MiB/s', 52_428_800],
    ['512KiB/s', 524_288],
    ['1GiB/s', 1_073_741_824],
    ['20MB/s', 20_000_000],
    ['900kB/s', 900_000],
    ['400Mbit/s', 50_000_000],
    ['1.5Gbit/s', 187_500_000],
  ])('%s', (text, expected) => {
    expect(parseRate(text)).toBe(expected);
  });

  test.each(['50', '50M', 'MiB/s', '-1MiB/s', '0MiB/s', '50MiB/s/s', '50mib/s', '1kB/s', ''])(
    '%s is none',
    (text) => {
      expect(parseRate(text)).toBeUndefined();
    },
  );
});
