import { expect, test } from 'vitest';

import { isIgnored } from '../../../../src/shared/contract/gpus.ts';

const gpu = { address: '0000:03:00.0', deviceId: '128b' };

test.each<[string, readonly string[] | undefined, boolean]>([
  ['no ignore list', undefined, false],
  ['its address', ['0000:03:00.0'], true],
  ['its address without the first domain', ['03:00.0'], true],
  ['its kind', ['10de:128b'], true],
  ['its kind in capitals', ['10DE:128B'], true],
  ['one of several', ['10de:2684', '03:00.0'], true],
  ['another domain', ['0001:03:00.0'], false],
  ['another kind', ['10de:2684'], false],
  ['the beginning of it', ['03:00'], false],
])('a GPU and ignore: %s', (_, ignore, expected) => {
  expect(isIgnored(gpu, ignore)).toBe(expected);
});
