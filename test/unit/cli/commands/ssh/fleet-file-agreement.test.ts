// Compares our connections with those of ssh, which reads only what the command wrote into ~/.ssh/config.
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { useSshHome } from '../../../../support/ssh-home.ts';

const { cwd, config, inventory, azpFleet, write, theirs } = useSshHome();

/** Returns the options of our connection, from `inventory show`. */
async function ours(name: string): Promise<Record<string, string | number | string[]>> {
  const { stdout } = await azpFleet(`inventory show ${name} -i lab.yaml --json`);
  return (
    (JSON.parse(stdout) as { hosts: { connection: Record<string, string | number | string[]> }[] }).hosts[0]
      ?.connection ?? {}
  );
}

/** Options that must be equal; pinned host keys are compared separately. */
const decisive = [
  'hostname',
  'port',
  'user',
  'identityfile',
  'identitiesonly',
  'proxyjump',
  'proxycommand',
  'hostkeyalias',
  'addressfamily',
  'ciphers',
];

async function agreement(name: string) {
  const [own, ofSsh, unset] = [await ours(name), theirs(name), theirs('localhost', 'none')];
  const expected: Record<string, unknown> = {};
  const actual: Record<string, unknown> = {};
  for (const option of decisive) {
    const value = ofSsh[option]?.filter((each) => each !== 'none');
    // We leave an unset option out; ssh prints its default.
    const isDefault = JSON.stringify(value) === JSON.stringify(unset[option]);
    const inEffect = isDefault && own[option] === undefined ? [] : (value ?? []);
    expected[option] = inEffect.map((each) => unfolded(each, String(own['hostname'])));
    const listed = own[option] ?? [];
    actual[option] =
      option === 'ciphers'
        ? [[listed].flat().join(',')].filter((text) => text !== '')
        : [listed].flat().map(String);
  }
  // Without a named key, ssh tries more key types than the built-in client supports.
  if ((own['from'] as unknown as Record<string, string>)['identityfile'] === 'default') {
    delete expected['identityfile'];
    delete actual['identityfile'];
  }
  return { expected, actual };
}

/** Options that -G prints exactly as written. */
function unfolded(text: string, hostname: string): string {
  return text
    .replaceAll(/%[%h]/g, (token) => (token === '%h' ? hostname : '%'))
    .replace(/^~/, userInfo().homedir);
}

describe('ssh -G NAME equals our own connection', () => {
  const users = `Compression yes
Host gpu-alias
  HostName 192.0.2.77
  Port 2277
  User of-the-alias
  IdentityFile /keys/of-the-alias
Host 198.51.100.*
  User of-the-net
  ProxyCommand nc -X 5 %h %p
  Ciphers aes128-ctr
Host plain
  User of-plain
  HostName plain.lab.example
Host named-*
  User for-the-name
  Port 2299
  ProxyJump never-this
  AddressFamily inet6
`;
  const table: readonly (readonly [name: string, says: string])[] = [
    ['plain', '{}'],
    ['unknown.lab.example', '{}'],
    ['by-address', '{ address: 192.0.2.11 }'],
    [
      'everything',
      '{ address: 192.0.2.12, port: 2222, user: admin, identityFile: /keys/one, jump: "ann@gate.example:2022" }',
    ],
    ['six', '{ address: "2001:db8::7", user: root }'],
    ['zone', '{ address: "fe80::1%eth0" }'],
    ['over-alias', '{ address: gpu-alias }'],
    ['over-alias-with', '{ address: gpu-alias, port: 99, user: other }'],
    ['over-net', '{ address: 198.51.100.7 }'],
    ['named-1', '{ address: 192.0.2.13 }'],
    ['named-2', '{}'],
    ['named-3', '{ user: mine, jump: "none" }'],
    ['domain', String.raw`{ address: 192.0.2.14, user: 'LAB\ann' }`],
    ['odd-key', String.raw`{ address: 192.0.2.15, identityFile: '/keys/a b"c''d\e' }`],
    ['percent', '{ address: 192.0.2.16, identityFile: "/keys/100%%" }'],
    ['token', '{ address: 192.0.2.17, identityFile: "/keys/%h" }'],
    ['chain', '{ address: 192.0.2.18, jump: "one.example,two.example:22" }'],
    ['behind', '{ address: 10.0.0.2, jump: bastion }'],
    ['bastion', '{ address: 192.0.2.19, port: 2200, user: hop }'],
    ['own-file', `{ sshConfig: ${join(cwd, 'own.ssh_config')} }`],
    ['no-file', '{ address: 198.51.100.8, sshConfig: none }'],
    ['UPPER', '{ address: 192.0.2.20 }'],
    ['strict', '{ address: 192.0.2.21, hostKeyPolicy: strict }'],
  ];

  beforeAll(() => {
    writeFileSync(join(cwd, 'own.ssh_config'), 'Host own-file\n  HostName 192.0.2.88\n  User of-the-file\n');
  });
  beforeEach(async () => {
    inventory(table.map(([name, says]) => `  ${name}: ${says}\n`).join(''));
    writeFileSync(config, users, { mode: 0o600 });
    const { problems, exitCode } = await write();
    expect({ problems, exitCode }).toEqual({ problems: [], exitCode: 0 });
  });

  test('for each host', async () => {
    for (const [name] of table) {
      const { expected, actual } = await agreement(name);
      expect({ name, ...actual }).toEqual({ name, ...expected });
    }
    expect(theirs('strict')['stricthostkeychecking']).toEqual(['true']);
    // Options that do not affect the connection stay the user's.
    expect(theirs('everything')['compression']).toEqual(['yes']);
  });

  test('a jump host of the inventory is recognized by its address as well', async () => {
    inventory(`  gate: { address: 192.0.2.19, port: 2200, jump: gate }
  behind: { address: 10.0.0.2, jump: "ann@192.0.2.19:2200" }
`);
    await write(' behind');
    expect(theirs('behind')['proxyjump']).toEqual(['ann@gate:2200']);
    expect(theirs('gate')).toMatchObject({ hostname: ['192.0.2.19'], port: ['2200'] });
    expect(theirs('gate')).not.toHaveProperty('proxyjump');
  });

  test('a jump host without a key uses that of the hosts behind it', async () => {
    inventory(`  one: { address: 10.0.0.2, jump: me@gate.example, identityFile: /keys/one }
  two: { address: 10.0.0.3, jump: gate.example, identityFile: /keys/two }
  three: { address: 10.0.0.4, jump: gpu-alias, identityFile: /keys/two }
`);
    await write();
    const keys = theirs('gate.example')['identityfile'] ?? [];
    expect(keys).toEqual(
      expect.arrayContaining(['/keys/one', '/keys/two', expect.stringContaining('id_ed25519')]),
    );
    expect(theirs('gpu-alias')['identityfile']).toEqual(['/keys/of-the-alias']);
  });

  test('options removed from the inventory are removed from the file', async () => {
    inventory('  plain: { user: once, port: 5, jump: gone.example }\n');
    await write();
    expect(theirs('plain')).toMatchObject({ user: ['once'], port: ['5'], proxyjump: ['gone.example'] });
    inventory('  plain: {}\n');
    expect(await ours('plain')).toMatchObject({ user: 'of-plain', port: 22 });
    await write();
    expect(theirs('plain')).toMatchObject({ user: ['of-plain'], port: ['22'] });
    expect(theirs('plain')).not.toHaveProperty('proxyjump');
  });
});
