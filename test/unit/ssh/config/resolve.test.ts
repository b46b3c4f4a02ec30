import { describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../src/inventory/fleet.ts';
import { describeConnection } from '../../../../src/ssh/config/describe.ts';
import type { ConfigWorld } from '../../../../src/ssh/config/outside.ts';
import { hopSpec, resolveConnection } from '../../../../src/ssh/config/resolve.ts';
import { sshSpec } from '../../../support/transport.ts';

function resolve(config: Record<string, string>, spec: Partial<SshSpec> = {}, name = 'box') {
  const world: ConfigWorld = {
    home: '/home/ann',
    user: 'ann',
    uid: 1000,
    localHost: 'laptop.example',
    execute: () => 1,
    isAddress: (text) => /^[\d.]+$/.test(text),
    readFile: (path) => config[path],
    glob: (pattern) => Object.keys(config).filter((path) => path === pattern),
  };
  const files = { user: '/home/ann/.ssh/config', system: '/etc/ssh/ssh_config' };
  return resolveConnection(name, sshSpec(spec), files, world, { SSH_AUTH_SOCK: '/run/agent', DIR: '/keys' });
}

const user = '/home/ann/.ssh/config';
const system = '/etc/ssh/ssh_config';

describe('where a value comes from', () => {
  test('the inventory wins over the user, the user over the system', () => {
    const config = {
      [user]: 'Host box\n  Port 1\n  User u\n',
      [system]: 'Port 2\nUser s\nConnectTimeout 9\n',
    };
    const shown = describeConnection(resolve(config, { port: 3 }));
    expect(shown).toMatchObject({ port: 3, user: 'u', connecttimeout: 9 });
    expect(shown.from).toMatchObject({
      port: 'inventory',
      user: `${user}:3`,
      connecttimeout: `${system}:3`,
      hostname: 'argument',
      serveraliveinterval: 'default',
    });
  });

  test('an address in the inventory is what is looked up', () => {
    const config = { [user]: 'Host gpu\n  HostName 192.0.2.1\nHost box\n  User wrong\n' };
    expect(resolve(config, { address: 'gpu' })).toMatchObject({
      hostname: '192.0.2.1',
      user: 'ann',
      name: 'box',
    });
  });

  // Not a case of the oracle: OpenSSH's releases differ (Debian's 9.2p1-2+deb12u6 ignores the command, deb12u10 uses it).
  test('`ProxyJump none` leaves room for a ProxyCommand after it, as current releases of OpenSSH have it', () => {
    const config = { [user]: 'Host box\n  ProxyJump none\n  ProxyCommand nc %h %p\n' };
    expect(resolve(config)).toMatchObject({ jump: [], proxyCommand: 'nc box 22' });
  });

  test('Include is relative to the folder of the file that it belongs to', () => {
    const config = {
      [user]: 'Include more\n',
      '/home/ann/.ssh/more': 'Port 5\n',
      [system]: 'Include /etc/x\n',
      '/etc/x': 'User x\n',
    };
    expect(resolve(config)).toMatchObject({ port: 5, user: 'x' });
  });

  test('a file that includes itself is the user’s mistake', () => {
    expect(() => resolve({ [user]: 'Include config\n' })).toThrow(/goes deeper than 16 files/);
  });
});

describe('what is expanded', () => {
  test('tokens, home and variables in paths and commands', () => {
    const config = {
      [user]: [
        'HostName %h.lab',
        'User u',
        'Port 2222',
        'IdentityFile ~/.ssh/%n-%r',
        'IdentityFile ${DIR}/%L',
        'ProxyCommand nc %h %p %%',
        'UserKnownHostsFile ~/k_%h',
      ].join('\n'),
    };
    expect(resolve(config)).toMatchObject({
      hostname: 'box.lab',
      identityFiles: ['/home/ann/.ssh/box-u', '/keys/laptop'],
      proxyCommand: 'nc box.lab 2222 %',
      userKnownHosts: ['/home/ann/k_box.lab'],
    });
  });

  test.each([
    ['', '/run/agent'],
    ['IdentityAgent none', undefined],
    ['IdentityAgent SSH_AUTH_SOCK', '/run/agent'],
    ['IdentityAgent $DIR', '/keys'],
    ['IdentityAgent ~/a.sock', '/home/ann/a.sock'],
  ])('the agent: %s', (line, expected) => {
    expect(resolve({ [user]: `${line}\n` }).agent).toBe(expected);
  });
});

test('keys pinned in the inventory are all that is accepted', () => {
  const shown = describeConnection(resolve({}, { hostKeys: ['ssh-ed25519 AAAA'] }));
  expect(shown).toMatchObject({
    stricthostkeychecking: 'true',
    from: { stricthostkeychecking: 'inventory' },
  });
});

test('Kerberos is told of, unless a distribution switched it on for everybody', () => {
  const gssapi = { option: 'gssapiauthentication', from: `${user}:1` };
  expect(resolve({ [user]: 'GSSAPIAuthentication yes\n' }).unsupported).toEqual([gssapi]);
  expect(resolve({ [user]: 'GSSAPIAuthentication no\n' }).unsupported).toEqual([]);
  expect(resolve({ [system]: 'GSSAPIAuthentication yes\n' }).unsupported).toEqual([]);
});

test('options that only the system ssh honours are told of with their place', () => {
  const config = { [user]: 'CertificateFile ~/.ssh/c\nPKCS11Provider none\nKnownHostsCommand /bin/x %H\n' };
  expect(resolve(config).unsupported).toEqual([
    { option: 'certificatefile', from: `${user}:1` },
    { option: 'knownhostscommand', from: `${user}:3` },
  ]);
});

test.each([
  ['host', { name: 'host' }],
  ['ann@host', { name: 'host', user: 'ann' }],
  ['ann@host:22', { name: 'host', user: 'ann', port: 22 }],
  ['[2001:db8::1]:2222', { name: '2001:db8::1', port: 2222 }],
])('the hop %s', (hop, { name, ...spec }) => {
  expect(hopSpec(hop)).toMatchObject({ name, spec });
});
