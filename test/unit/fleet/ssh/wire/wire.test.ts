import { expect, test } from 'vitest';

import { channelsOf } from '../../../../../src/fleet/ssh/wire/wire.ts';

test.each([
  ['OpenSSH_9.2p1', 8],
  ['', 8],
  ['dropbear_2020.81', 8],
  ['dropbear_2022.82', 1],
  ['dropbear_2022.83', 1],
  ['dropbear_2024.85', 1],
  ['dropbear_2024.86', 8],
  ['dropbear_2025.88', 8],
  ['dropbear', 1],
])('%j runs %i commands at a time', (software, channels) => {
  expect(channelsOf(software)).toBe(channels);
});
