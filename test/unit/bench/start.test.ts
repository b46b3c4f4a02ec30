import { expect, test } from 'vitest';

import { bundledPackages } from '../../../bench/start.ts';

test('the packages of a list of licenses, with and without a license or a scope', () => {
  const line = '-'.repeat(80);
  const licenses = `@a/b 1.2.3: MIT\n\nCopyright 2020\n${line}\n\nc.js 4.5.6-rc.1\n\n${line}\n\nd 7.0.0: (MIT OR CC0)\n`;
  expect(bundledPackages(licenses)).toEqual([
    { name: '@a/b', version: '1.2.3' },
    { name: 'c.js', version: '4.5.6-rc.1' },
    { name: 'd', version: '7.0.0' },
  ]);
});
