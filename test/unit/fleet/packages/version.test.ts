import { expect, it } from 'vitest';

import { compareVersions, upstream } from '../../../../src/fleet/packages/version.ts';

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

it.each([
  ['9.9', '9.10', -1],
  ['595.71.05', '580.95.05', 1],
  ['580.95.05', '580.126.09', -1],
  ['580', '580.95.05', 0],
  ['580.95.05', '595', -1],
  ['29.7.2', '29.7.2', 0],
  ['20.10.24+dfsg1', '20.10.24', 0],
  ['none', '580', 0],
])('%s against %s', (first, second, expected) => {
  expect(Math.sign(compareVersions(first, second))).toBe(expected);
  expect(Math.sign(compareVersions(second, first))).toBe(-expected || 0);
});
