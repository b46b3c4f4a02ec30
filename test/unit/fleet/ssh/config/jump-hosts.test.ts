import { describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import { hopTarget, hostOfHop, jumpTo } from '../../../../../src/fleet/ssh/config/jump-hosts.ts';
import { parseHop } from '../../../../../src/shared/base/jump-chain.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

const host = (name: string, spec: Partial<SshSpec> = {}) => ({ name, ssh: sshSpec(spec) });
const hosts = [
  host('bastion', { address: '192.0.2.1', port: 2222, user: 'ann', identityFile: '/k', hostKeys: ['pin'] }),
  host('edge-gate', { loginPassword: { env: 'EDGE' }, user: 'ann' }),
  host('behind-1', { address: 'nat.example', port: 2201 }),
  host('behind-2', { address: 'nat.example', port: 2202 }),
  host('edge', { address: 'two.example' }),
  host('inner', { address: 'two.example', port: 2203 }),
  host('192.0.2.9', { address: '192.0.2.10' }),
  host('v6', { address: '2001:db8::1' }),
];

test.each<[string, string | undefined]>([
  ['bastion', 'bastion'],
  ['Bastion', 'bastion'],
  ['root@bastion:22', 'bastion'],
  ['192.0.2.1', 'bastion'],
  ['192.0.2.1:2222', 'bastion'],
  ['192.0.2.1:22', undefined],
  ['nat.example', undefined],
  ['nat.example:2202', 'behind-2'],
  ['two.example', 'edge'],
  ['TWO.example:2203', 'inner'],
  // A name has priority over an address.
  ['192.0.2.9', '192.0.2.9'],
  ['[2001:db8::1]', 'v6'],
  ['stranger', undefined],
])('%s is the host %s', (text, name) => {
  expect(hostOfHop(parseHop(text) ?? { host: '' }, hosts)?.name).toBe(name);
});

describe('a hop is a target', () => {
  const behind = (jump: string, strict = false) => ({
    jump: jump.split(','),
    sshConfig: '/c',
    inherited: { hostKeyPolicy: 'accept-new' as const, strict, identityFiles: [] },
  });

  test.each<[string, string, object]>([
    ['with all values of the inventory', 'bastion', { ...hosts[0], known: true }],
    [
      'with the values of the hop before those of the inventory',
      'bob@192.0.2.1:2222',
      { name: 'bastion', known: true, ssh: { ...hosts[0]?.ssh, user: 'bob' } },
    ],
    ['with its password', 'edge-gate', { ...hosts[1], known: true }],
    [
      'without its password for another user',
      'bob@edge-gate',
      { name: 'edge-gate', known: true, ssh: sshSpec({ user: 'bob' }) },
    ],
    [
      'reached through the hops before it',
      'one,two,bastion',
      { name: 'bastion', known: true, ssh: { ...hosts[0]?.ssh, jump: 'one,two' } },
    ],
    [
      'that is not in the inventory, with the same ssh_config',
      'bob@stranger:23',
      { name: 'stranger', known: false, ssh: sshSpec({ sshConfig: '/c', user: 'bob', port: 23 }) },
    ],
  ])('%s', (_, jump, target) => {
    expect(hopTarget(behind(jump), hosts)).toEqual(target);
  });

  test('as strict as the host behind it', () => {
    for (const jump of ['bastion', 'stranger'])
      expect(hopTarget(behind(jump, true), hosts).ssh.hostKeyPolicy).toBe('strict');
  });
});

describe('a host that is its own jump host', () => {
  test.each<[string, string, string]>([
    ['bastion', 'bastion', 'none'],
    ['bastion', 'ann@192.0.2.1', 'none'],
    ['bastion', 'one,bastion,two', 'one'],
    ['edge', 'bastion,edge-gate', 'bastion,edge-gate'],
    ['behind-1', 'nat.example', 'nat.example'],
    ['edge', 'none', 'none'],
  ])('%s behind %s is reached by %s', (name, jump, reached) => {
    expect(jumpTo(host(name, { jump }), hosts)).toBe(reached);
  });

  test('an invalid chain is an error', async () => {
    const problem = await problemOf((async () => jumpTo(host('edge-gate', { jump: 'a b' }), hosts))());
    expect(problem).toMatchObject({ code: 'ssh.config', host: 'edge-gate' });
  });
});
