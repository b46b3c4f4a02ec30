import { describe, expect, test } from 'vitest';

import { poolsOf } from '../../../../../src/shared/contract/slots.ts';
import { fleet, mistakes } from '../fixture.ts';

const twoSlots = (first: string, second: string) =>
  `hosts: { a: { agents: [{ gpus: [0]${first} }, { gpus: [1]${second} }] } }\n`;

describe('pools of slots', () => {
  test.each([
    ['the pool of the host', 'defaults: { pool: p }\nhosts: { a: {} }\n', ['p']],
    ['a slot with its own pool', `defaults: { pool: p }\n${twoSlots(', pool: q', '')}`, ['q', 'p']],
    ['every slot with its own, and none for the host', twoSlots(', pool: q', ', pool: r'), ['q', 'r']],
    [
      'named after host and innermost group',
      'defaults: { pool: "{group}-{host}-{arch}" }\ngroups: { lab: { children: [hopper] }, hopper: { hosts: [a] } }\nhosts: { a: {} }\n',
      ['hopper-a-{arch}'],
    ],
  ])('%s', (_, text, pools) => {
    const [host] = fleet(text).hosts;
    expect(host && poolsOf(host)).toEqual(pools);
  });

  test.each([
    [
      'one slot has a pool, the other none',
      twoSlots(', pool: q', ''),
      'inventory.yaml:3:13: a has no pool\nexpected: a pool in defaults, in one of its groups or on the host\nnext: add `pool: NAME` under `defaults:`',
    ],
    [
      'an unknown placeholder',
      'defaults: { pool: "{arch}-{cudda}" }\nhosts: { a: {} }\n',
      'inventory.yaml:3:19: {cudda} in a pool name is not a known placeholder\nexpected: {arch}, {cuda}, {cudaMajor}, {generation}, {group}, {host}\nseen: {arch}-{cudda}\nnext: did you mean "{cuda}"?',
    ],
    [
      'an unknown placeholder at a slot',
      `defaults: { pool: p }\n${twoSlots('', ', pool: "{colour}"')}`,
      'inventory.yaml:4:58: {colour} in a pool name is not a known placeholder\nexpected: {arch}, {cuda}, {cudaMajor}, {generation}, {group}, {host}\nseen: {colour}\nnext: remove it, or use one of these',
    ],
    [
      'a host in no group',
      'hosts: { a: { pool: "{group}" } }\n',
      'inventory.yaml:3:21: a is in no group, but its pool name contains {group}\nseen: {group}\nnext: add the host to a group, or set another pool for it',
    ],
    [
      'an unmatched brace',
      'hosts: { a: { pool: "x}" } }\n',
      'inventory.yaml:3:21: a pool name has an unmatched brace\nexpected: {arch}, {cuda}, {cudaMajor}, {generation}, {group}, {host}\nseen: x}\nnext: close or remove it',
    ],
    [
      'two agents of one name on a host, in two pools',
      `defaults: { agentName: "{host}" }\n${twoSlots(', pool: q', ', pool: r')}`,
      'inventory.yaml:3:24: a has several agents, but agentName gives all of them the same name\nseen: agentName: {host}\nnext: put {host} and {slot} into agentName, or choose another pool',
    ],
  ])('%s', (_, text, mistake) => {
    expect(mistakes(text)).toEqual([mistake]);
  });

  test('agents of one name in two pools on two hosts are valid', () => {
    const text =
      'defaults: { agentName: gpu }\nhosts: { a: { agents: [{ gpus: [], pool: p }] }, b: { agents: [{ gpus: [], pool: q }] } }\n';
    expect(mistakes(text)).toEqual([]);
  });
});
