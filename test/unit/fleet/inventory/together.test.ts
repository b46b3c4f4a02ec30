import { describe, expect, test } from 'vitest';

import { mistakes, mistakesIn } from './fixture.ts';

/** Title, the inventory from line 3 on, and the first line of each message. */
const cases: readonly (readonly [title: string, text: string, ...expected: string[]])[] = [
  [
    'a duplicate key, and mistakes in both of its values',
    'defaults: { pool: p }\nhosts: { a: { port: 0 } }\nhosts:\n  b: { prot: 1 }\n  c: { gpus: 1, agents: 2 }\n',
    'inventory.yaml:4:21: hosts.a.port has an invalid value',
    'inventory.yaml:5:1: duplicate key hosts',
    'inventory.yaml:6:8: hosts.b.prot is not a known key',
    'inventory.yaml:7:25: c has more agents than GPUs',
  ],
  [
    'a duplicate key, as number and as text',
    'defaults: { pool: p }\nhosts: { 1: {}, "1": {} }\n',
    'inventory.yaml:4:17: duplicate key 1',
  ],
  [
    'an invalid value, and mistakes across other keys',
    'defaults: { pool: p }\ngroups: { g: { hosts: [h200-11] } }\nhosts: { h200-1: { gpus: 1, agents: 2 }, b: { port: 0 } }\nprojects: vision\n',
    'inventory.yaml:4:24: there is no host h200-11',
    'inventory.yaml:5:53: hosts.b.port has an invalid value',
    'inventory.yaml:6:11: projects has an invalid value',
  ],
  [
    'one host with an invalid value, another with too many agents',
    'hosts: { a: { pool: p, port: 0 }, b: { pool: p, gpus: 1, agents: 2 }, c: {} }\n',
    'inventory.yaml:3:30: hosts.a.port has an invalid value',
    'inventory.yaml:3:66: b has more agents than GPUs',
    'inventory.yaml:3:74: c has no pool',
  ],
  [
    'an invalid name, and mistakes across other keys',
    'hosts: { a/b: {}, c: {} }\ngroups: { g: { hosts: [d] } }\n',
    'inventory.yaml:3:10: hosts has an invalid key',
    'inventory.yaml:4:24: there is no host d',
  ],
  [
    'a variable that is not set, without mistakes about its value',
    'hosts: { a: { pool: p, port: "${PORT}" }, b: { pool: p, gpus: 1, agents: 2 } }\n',
    'inventory.yaml:3:31: the environment variable PORT is not set',
    'inventory.yaml:3:74: b has more agents than GPUs',
  ],
];

describe('mistakes of different kinds are reported together', () => {
  test.each(cases)('%s', (_, text, ...expected) => {
    expect(mistakes(text).map((problem) => problem.split('\n')[0])).toEqual(expected);
  });
});

describe('consequences of a mistake are not reported', () => {
  test.each([
    ['hosts without a pool because the key is misspelt', 'defaults: { pol: p }\nhosts: { a: {}, b: {} }\n'],
    ['no token because it is invalid', 'hosts: { a: { pool: p } }\n', 'token: x\n'],
    [
      'hosts without a pool because their group has an invalid key',
      'groups: { g/h: { hosts: [a], vars: { pool: p } } }\nhosts: { a: {} }\n',
    ],
    ['one service principal and one broken token', 'hosts: { a: { pool: p } }\n', 'servicePrincipal: x\n'],
    [
      'hosts without a pool because their group is misspelt',
      'groups: { g: { var: { pool: p } } }\nhosts: { a: {} }\n',
    ],
    [
      'hosts without a pool because the group names an unknown host',
      'groups: { g: { hosts: [b], vars: { pool: p } } }\nhosts: { a: {} }\n',
    ],
    [
      'hosts without a pool because the pool of their group is a number',
      'groups: { g: { hosts: [a], vars: { pool: 1 } } }\nhosts: { a: {} }\n',
    ],
    [
      'no host because hosts are a list',
      'defaults: { pool: p }\ngroups: { g: { hosts: [a] } }\nhosts: [a]\n',
    ],
    [
      'an organization that is not set',
      'hosts: { a: { pool: p } }\n',
      'organization: "${ORG}"\ntoken: { env: T }\n',
    ],
  ])('%s', (_, text, head = '') => {
    const own = head === '' ? 'token: { env: T }\n' : head;
    const organization = head.includes('organization') ? '' : 'organization: https://dev.azure.com/example\n';
    expect(mistakesIn(organization + own + text)).toHaveLength(1);
  });
});

test('a mistake in one line that affects many hosts is reported once', () => {
  const text =
    'defaults: { pool: p, gpus: 2, agents: 4 }\nhosts: { a: {}, b: {}, c: {}, d: {}, e: {}, f: { gpus: 3 } }\n';
  expect(mistakes(text).map((problem) => problem.split('\n')[0])).toEqual([
    'inventory.yaml:3:39: a has more agents than GPUs (also: b, c, d, e)',
    'inventory.yaml:3:39: f has more agents than GPUs',
  ]);
  expect(mistakes('defaults: { pool: p, volumes: ["/d:/d:PATH"] }\nhosts: { a: {}, b: {} }\n')).toEqual([
    'inventory.yaml:3:31: the environment variable PATH is reserved in agent containers\nnext: choose another name for the dataset',
  ]);
});

test.each([
  ['gpu-[001-299]', (index: number) => `gpu-${String(index).padStart(3, '0')}`],
  ['n1, n4, n9 and 296 more', (index: number) => `n${index ** 2}`],
])('any number of affected hosts is shortened: %s', (others, name) => {
  const hosts = Array.from({ length: 300 }, (_, index) => `${name(index)}: {}`).join(', ');
  const [first = ''] = mistakes(`defaults: { pool: p, gpus: 2, agents: 4 }\nhosts: { ${hosts} }\n`);
  expect(first.split('\n')[0]).toBe(
    `inventory.yaml:3:39: ${name(0)} has more agents than GPUs (also: ${others})`,
  );
});
