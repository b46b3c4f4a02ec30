import { execFileSync } from 'node:child_process';

import { startAgent } from '../ssh-agent.ts';
import { sshKeyPair } from '../ssh-key.ts';
import type { Helper, Mistake } from './mistake.ts';
import { closedPort, deafPort, silentPort, webPort } from './other-ports.ts';
import type { World } from './world.ts';

const onHost = { typed: 'exec h200-1 -- true', place: 'h200-1 · connect' } as const;
const portOf = (world: World) => `port: ${world.host.port}`;
const key = 'identityFile: ~/.ssh/id_ed25519';

/** The author of the inventory restores the text before the mistake. */
const corrects = (asked: RegExp, does: string, carry: Helper['carry']): Helper => ({
  who: 'the author of the inventory',
  asked,
  does,
  carry,
});

/** Keys, users, host keys. */
export const loginMistakes: readonly Mistake[] = [
  {
    ...onHost,
    name: 'the path of the key is wrong',
    make: (world) => world.edit(key, 'identityFile: ~/.ssh/id_ed25591'),
    by: corrects(
      /^correct "identityFile:" in the inventory: there is no \S+id_ed25591$/,
      `writes ${key}`,
      (world) => world.edit('id_ed25591', 'id_ed25519'),
    ),
  },
  {
    ...onHost,
    name: 'the public key in place of the private one',
    make: (world) => world.edit(key, `${key}.pub`),
    by: corrects(/^use the private key instead: (\S+)$/, `writes ${key}`, (world, [, file = '']) =>
      world.edit(`${key}.pub`, `identityFile: ${file}`),
    ),
  },
  {
    ...onHost,
    name: 'a key that others may read',
    make: (world) => world.write('.ssh/id_ed25519', world.read('.ssh/id_ed25519'), 0o644),
  },
  {
    ...onHost,
    name: 'a key with a passphrase, without a terminal',
    make: async (world) => {
      world.passphrase = 'open sesame';
      execFileSync('ssh-keygen', [
        '-q',
        '-p',
        '-P',
        '',
        '-N',
        world.passphrase,
        '-f',
        world.path('.ssh/id_ed25519'),
      ]);
      const agent = await startAgent(world.folder);
      world.onEnd(() => agent.stop());
      world.env['SSH_AUTH_SOCK'] = agent.socket;
    },
  },
  {
    ...onHost,
    name: 'the key is not on the host',
    make: (world) => world.host.authorize(sshKeyPair().public),
  },
  {
    ...onHost,
    name: 'there is no key at all',
    make: async (world) => {
      await world.shell('rm .ssh/id_ed25519*');
      world.edit(`  ${key}\n`, '');
    },
  },
  {
    ...onHost,
    name: 'a key as PuTTY writes it',
    make: (world) => {
      world.write('.ssh/lab.ppk', 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n', 0o600);
      world.edit(key, 'identityFile: ~/.ssh/lab.ppk');
    },
    by: corrects(
      /^use a private key in OpenSSH format; .*: puttygen (\S+) -O private-openssh -o NEW$/,
      'puttygen makes ~/.ssh/id_ed25519 of it, and that is named',
      (world) => world.edit('lab.ppk', 'id_ed25519'),
    ),
  },
  {
    ...onHost,
    name: 'the wrong user',
    make: (world) => world.edit('user: ann', 'user: anne'),
    by: corrects(
      /^check that anne is the right user \("user:" in the inventory\)/,
      'writes user: ann',
      (world) => world.edit('user: anne', 'user: ann'),
    ),
  },
  {
    ...onHost,
    name: 'the host was reinstalled',
    make: async (world) => {
      await world.type(onHost.typed);
      await world.host.reinstall();
    },
  },
  {
    ...onHost,
    name: 'the host was reinstalled, and its key is pinned',
    make: async (world) => {
      await world.type('trust h200-1 --yes');
      await world.host.reinstall();
    },
  },
  {
    ...onHost,
    name: 'an unknown host with strict host key checking',
    make: (world) => world.edit('  user: ann', '  hostKeyPolicy: strict\n  user: ann'),
  },
];

const admin = (asked: RegExp, does: string, carry: Helper['carry']): Helper => ({
  who: 'the administrator of h200-1',
  asked,
  does,
  carry,
});

/** Addresses, ports, jump hosts. */
export const wayMistakes: readonly Mistake[] = [
  {
    ...onHost,
    name: 'the address is an unknown name',
    make: (world) => world.edit('address: 127.0.0.1', 'address: h200-1.lab.invalid'),
    by: corrects(
      /^correct "address:" of h200-1 in the inventory: .* an IP address/,
      'writes 127.0.0.1',
      (world) => world.edit('h200-1.lab.invalid', '127.0.0.1'),
    ),
  },
  {
    ...onHost,
    name: 'the port is wrong',
    make: async (world) => world.edit(portOf(world), `port: ${await closedPort()}`),
    by: corrects(/that the port is right \("port:" in the inventory\)$/, 'writes the port', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/port: \d+/, portOf(world))),
    ),
  },
  {
    ...onHost,
    name: 'sshd does not run',
    make: (world) => world.host.stop(),
    by: admin(/^check that sshd runs there/, 'starts sshd', (world) => world.host.start()),
  },
  {
    ...onHost,
    name: 'something else than SSH on that port',
    make: async (world) => world.edit(portOf(world), `port: ${await webPort(world)}`),
    by: corrects(/^correct "port:" or "address:" of the host in the inventory$/, 'writes the port', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/port: \d+/, portOf(world))),
    ),
  },
  {
    ...onHost,
    name: 'a server that says nothing',
    make: async (world) => {
      world.write('ssh_config', 'Host *\n  ConnectTimeout 8\n  UserKnownHostsFile /dev/null\n');
      world.edit('sshConfig: none', 'sshConfig: ssh_config');
      world.edit(portOf(world), `port: ${await silentPort(world)}`);
    },
    by: corrects(/^check that the port is right \("port:" in the inventory\)/, 'writes the port', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/port: \d+/, portOf(world))),
    ),
  },
  {
    ...onHost,
    name: 'no answer comes back',
    make: async (world) => {
      world.write('ssh_config', 'Host *\n  ConnectTimeout 8\n  UserKnownHostsFile /dev/null\n');
      world.edit('sshConfig: none', 'sshConfig: ssh_config');
      world.edit(portOf(world), `port: ${await deafPort(world)}`);
    },
    by: corrects(/^correct "address:" or "port:" in the inventory/, 'writes the port', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/port: \d+/, portOf(world))),
    ),
  },
  {
    ...onHost,
    name: 'the host hangs up at once',
    make: (world) => (world.host.settings.hangsUp = true),
    by: admin(
      /^check journalctl -u ssh on the host: .*fail2ban/,
      'takes the laptop off the list of fail2ban',
      (world) => (world.host.settings.hangsUp = false),
    ),
  },
  {
    ...onHost,
    name: 'sshd allows no session',
    make: (world) => (world.host.settings.maxSessions = 0),
    by: admin(
      /^set MaxSessions to (\d+) in \/etc\/ssh\/sshd_config on the host/,
      'does so',
      (world, [, most]) => (world.host.settings.maxSessions = Number(most)),
    ),
  },
  {
    ...onHost,
    name: 'the jump host is misspelt',
    make: (world) => world.edit(portOf(world), `${portOf(world)}\n    jump: gate.lab.invalid`),
    by: corrects(/^correct "jump:" in the inventory/, 'writes the name of the jump host', async (world) => {
      const gate = await world.another();
      world.edit('jump: gate.lab.invalid', `jump: ann@127.0.0.1:${gate.port}`);
    }),
  },
  {
    ...onHost,
    name: 'the jump host does not forward',
    make: async (world) => {
      const gate = await world.another();
      gate.settings.forwards = false;
      world.notes.set('forward', () => (gate.settings.forwards = true));
      world.edit(portOf(world), `${portOf(world)}\n    jump: ann@127.0.0.1:${gate.port}`);
    },
    by: {
      who: 'the administrator of the jump host',
      asked: /^set AllowTcpForwarding yes in sshd_config of /,
      does: 'sets AllowTcpForwarding yes',
      carry: (world) => world.notes.get('forward')?.(),
    },
  },
  {
    name: 'blanks in the name of the jump host',
    make: (world) => world.edit(portOf(world), `${portOf(world)}\n    jump: the gate`),
    typed: 'inventory check',
    place: 'inventory.yaml:18:11',
    by: corrects(/^replace it with an expected value$/, 'writes jump: gate', (world) =>
      world.edit('the gate', 'gate'),
    ),
  },
  {
    ...onHost,
    name: 'a login that ends at once',
    make: (world) => world.host.shell('echo "This account is currently not available."; exit 1'),
  },
];
