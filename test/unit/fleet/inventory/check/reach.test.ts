import { expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

const one = (key: string) => `defaults: { pool: p }\nhosts:\n  a:\n    ${key}\n`;
const hop = 'user@host:port; user and port are optional, and an IPv6 address is in brackets';

test.each([
  ['jump: "not a host!!"', 'jump', 11, `none, or jump hosts separated by commas: ${hop}`],
  ['jump: "edge:70000"', 'jump', 11, `none, or jump hosts separated by commas: ${hop}`],
  ['jump: "a,,b"', 'jump', 11, `none, or jump hosts separated by commas: ${hop}`],
  [
    'address: "not a host!!"',
    'address',
    14,
    'a host name or an address, without spaces and shell characters',
  ],
  ['user: "-oProxyCommand=x"', 'user', 11, 'a user name that ssh accepts'],
])('%s is rejected', (key, name, column, expected) => {
  const seen = key.replace(/^\w+: /, '').replaceAll('"', '');
  expect(mistakes(one(key))).toEqual([
    `inventory.yaml:6:${column}: hosts.a.${name} has an invalid value\nexpected: ${expected}\nseen: ${seen}\nnext: replace it with an expected value`,
  ]);
});

test.each([
  'none',
  'edge',
  'ann@edge:2222',
  'ann@edge, [2001:db8::7]:22',
  'ssh://ann@edge/',
  'edge,bastion.lab.example',
])('jump: %s is valid', (jump) => {
  expect(fleet(one(`jump: "${jump}"`)).hosts[0]?.ssh.jump).toBe(jump);
});
