import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fromAnsible } from '../../../../../src/fleet/inventory/import/ansible.ts';
import type { Found } from '../../../../../src/fleet/inventory/import/found-host.ts';
import { name } from '../../../../../src/fleet/inventory/schema/values.ts';

const ini = `
# the lab
edge ansible_connection=local
[hopper]
gpu[01:03].lab ansible_port=2222
rtx ansible_host="192.0.2.7" ansible_ssh_private_key_file='~/.ssh/lab key' rack=b12 # mine
old:2200 ansible_ssh_user=me
[hopper:vars]
ansible_user = 'admin'
[all:vars]
ansible_user=root
ansible_become_password=hunter2
[gpu:children]
hopper
`;

const yaml = `
all:
  vars: { ansible_user: root, ansible_become_password: hunter2 }
  hosts:
    edge: { ansible_connection: local }
  children:
    gpu:
      children:
        hopper:
          vars: { ansible_user: admin }
          hosts:
            gpu[01:03].lab: { ansible_port: 2222 }
            rtx: { ansible_host: 192.0.2.7, ansible_ssh_private_key_file: ~/.ssh/lab key, rack: !vault "abc" }
            old: { ansible_port: "2200", ansible_ssh_user: me }
`;

function hosts({ hosts: found }: Found): Record<string, object> {
  return Object.fromEntries(found.map(({ name: host, entry }) => [host, entry]));
}

describe.each([
  ['INI', ini],
  ['YAML', yaml],
])('%s', (_, text) => {
  const found = fromAnsible(text);

  test('hosts get the values of Ansible: the host before inner groups, inner groups before outer ones', () => {
    expect(hosts(found)).toEqual({
      'gpu01.lab': { port: 2222, user: 'admin' },
      'gpu02.lab': { port: 2222, user: 'admin' },
      'gpu03.lab': { port: 2222, user: 'admin' },
      rtx: { address: '192.0.2.7', user: 'admin', identityFile: '~/.ssh/lab key' },
      old: { port: 2200, user: 'admin' },
    });
  });

  test('groups have all their hosts', () => {
    expect(found.hosts.map(({ groups }) => groups.toSorted())).toEqual(
      Array.from({ length: 5 }, () => ['gpu', 'hopper']),
    );
  });

  test('what is not imported is named with the reason, never with its value', () => {
    const skipped = found.leftOut.map(({ what, why }) => `${what}: ${why}`);
    expect(skipped).toEqual([
      'host edge: its connection is not SSH',
      expect.stringContaining('ansible_become_password: an inventory holds no secrets') as string,
      'variable rack: used by playbooks only',
    ]);
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });
});

test.each([
  ['shell code as address', 'h ansible_host=$(reboot)'],
  ['a template', 'h ansible_host="{{ lookup(1) }}"'],
  ['a variable of azp-fleet', 'h ansible_ssh_private_key_file=${HOME}/key'],
  ['an option as address', 'h ansible_host=-oProxyCommand=x'],
  ['an invalid port', 'h ansible_port=70000'],
  ['a user that ssh rejects', "h ansible_user='a;b'"],
  ['a name that azp-fleet rejects', 'a/b'],
  ['an open quotation mark', 'h ansible_user="x'],
  ['a word without =', 'h and more'],
  ['a range without end', 'h[1:999999999]'],
])('%s: the host is left out and reported', (_, line) => {
  const { hosts: taken, leftOut } = fromAnsible(line);
  expect(taken).toEqual([]);
  expect(leftOut).toHaveLength(1);
});

test('groups that contain each other, and a group named like a host', () => {
  const found = fromAnsible('[a]\nh\n[a:children]\nb\n[b:children]\na\n[h]\nx\n');
  expect(found.hosts.map((host) => [host.name, host.groups.toSorted()])).toEqual([
    ['h', ['a', 'b']],
    ['x', []],
  ]);
  expect(found.leftOut).toEqual([{ what: 'group h', why: 'a host has that name' }]);
});

test('a long chain of groups, and a YAML file that is too deep', () => {
  const chain = Array.from({ length: 20_000 }, (_, at) => `[g${at}:children]\ng${at + 1}`);
  expect(fromAnsible(`${chain.slice(0, 300).join('\n')}\n[g300]\nh`).hosts[0]?.groups).toHaveLength(301);
  const deep = `${'{ g: { children: '.repeat(60)}{}${' } }'.repeat(60)}`;
  expect(fromAnsible(deep).leftOut).toHaveLength(1);
});

test('an alias bomb is not expanded', () => {
  const lines = ['a0: &a0 { hosts: {} }'];
  for (let at = 1; at < 12; at += 1)
    lines.push(
      `a${at}: &a${at} { children: { ${Array.from({ length: 9 }, (_, k) => `c${k}: *a${at - 1}`).join(', ')} } }`,
    );
  expect(fromAnsible(lines.join('\n')).hosts.length).toBeLessThan(20);
});

test('any text is imported without an exception, as valid entries of an inventory', () => {
  const piece = fc.constantFrom(
    '[g]',
    '[g:vars]',
    '[g:children]',
    'h1 ',
    'ansible_host=',
    '[1:3]',
    '"',
    '#',
    '\n',
    ':22',
    '{',
    '- ',
  );
  const text = fc
    .array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 8 })))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (source) => {
      for (const host of fromAnsible(source).hosts) {
        expect(name.safeParse(host.name).success).toBe(true);
        expect(JSON.stringify(host.entry)).not.toContain('${');
      }
    }),
  );
});
