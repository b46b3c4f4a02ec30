import { expect, it } from 'vitest';

import { upstream } from '../../../src/packages/version.ts';

it.each([
  ['5:29.7.2-1~debian.12~bookworm', '29.7.2'],
  ['3:29.7.2-1.el9', '29.7.2'],
  ['580.95.05-0ubuntu1', '580.95.05'],
  ['535.261.03-1~deb12u1', '535.261.03'],
  ['1.20.0-1', '1.20.0'],
  ['20.10.24+dfsg1-1+deb12u1+b6', '20.10.24+dfsg1'],
])('upstream version of %s', (version, expected) => {
  expect(upstream(version)).toBe(expected);
});
