import { expect, test } from 'vitest';

import { alike } from '../../../../src/cli/render/alike.ts';

const groupsOf = (...texts: (readonly [host: string, text: string])[]) =>
  alike(texts.map(([host, value]) => ({ host, value }))).map(({ hosts, value }) => [hosts.join(' '), value]);

test.each<[string, Parameters<typeof groupsOf>, ReturnType<typeof groupsOf>]>([
  ['nothing', [], []],
  ['one host, unchanged', [['a', 'a has no free space']], [['a', 'a has no free space']]],
  [
    'equal texts once, in the order of their first host',
    [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
    ],
    [
      ['a c', 'x'],
      ['b', 'y'],
    ],
  ],
  [
    'the name of the host, and the names of its agents',
    [
      ['gpu-1', 'gpu-1-0, gpu-1-1: offline; next: azp-fleet undrain gpu-1'],
      ['gpu-2', 'gpu-2-0, gpu-2-1: offline; next: azp-fleet undrain gpu-2'],
    ],
    [['gpu-1 gpu-2', '{host}-0, {host}-1: offline; next: azp-fleet undrain {host}']],
  ],
  [
    'not a name with the same prefix, nor another host',
    [
      ['gpu-1', 'gpu-10 is in the way'],
      ['gpu-2', 'gpu-20 is in the way'],
      ['gpu-3', 'gpu-10 is in the way'],
    ],
    [
      ['gpu-1 gpu-3', 'gpu-10 is in the way'],
      ['gpu-2', 'gpu-20 is in the way'],
    ],
  ],
  [
    'different addresses',
    [
      ['a', '192.0.2.1:22 does not answer'],
      ['b', '192.0.2.2:22 does not answer'],
      ['c', '[2001:db8::1]:22 does not answer'],
    ],
    [
      ['a b', '{address}:22 does not answer'],
      ['c', '[2001:db8::1]:22 does not answer'],
    ],
  ],
  [
    'a common address stays',
    [
      ['a', 'the mirror 192.0.2.1 does not answer at 10:04:00'],
      ['b', 'the mirror 192.0.2.1 does not answer at 10:04:00'],
    ],
    [['a b', 'the mirror 192.0.2.1 does not answer at 10:04:00']],
  ],
  [
    'versions and times are not addresses',
    [
      ['a', 'driver 580.95.05 since 10:04:07'],
      ['b', 'driver 580.95.06 since 10:04:07'],
      ['c', 'driver 580.95.05 since 10:04:08'],
    ],
    [
      ['a', 'driver 580.95.05 since 10:04:07'],
      ['b', 'driver 580.95.06 since 10:04:07'],
      ['c', 'driver 580.95.05 since 10:04:08'],
    ],
  ],
  [
    'a repeated text of one host is listed once',
    [
      ['a', 'a is full'],
      ['a', 'a is full'],
    ],
    [['a', 'a is full']],
  ],
])('%s', (_, texts, groups) => {
  expect(groupsOf(...texts)).toEqual(groups);
});
