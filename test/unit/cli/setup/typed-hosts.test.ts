import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

import { matching, sourceOf } from '../../../../src/cli/setup/ask-hosts.ts';
import { distinctNames, hostMistake, parseHost } from '../../../../src/cli/setup/host-notation.ts';
import { sshConfigHosts } from '../../../../src/cli/setup/ssh-hosts.ts';

const known = (name: string) => name === 'h200-1' || name === 'rtx.lab';

describe('a host as typed', () => {
  test.each([
    ['h200-1', { name: 'h200-1' }],
    ['rtx.lab', { name: 'rtx.lab' }],
    ['gpu.lab.example', { name: 'gpu', address: 'gpu.lab.example' }],
    ['192.0.2.7', { name: '192.0.2.7' }],
    ['ann@192.0.2.7:2222', { name: '192.0.2.7', user: 'ann', port: 2222 }],
    ['box=ann@gpu.lab:22', { name: 'box', address: 'gpu.lab', user: 'ann', port: 22 }],
    ['[2001:db8::7]:22', { name: 'ip-2001-db8-7', address: '2001:db8::7', port: 22 }],
    ['six=[fe80::1]', { name: 'six', address: 'fe80::1' }],
  ])('%s', (text, host) => {
    expect(parseHost(text, known)).toEqual(host);
  });

  test.each(['', 'a b', 'ann@', 'a:0', 'a:70000', 'a:x', '2001:db8::7', '=a'])('%j is refused', (text) => {
    expect(hostMistake(text, known)).toBe(
      `${text}: write address, user@address:port or name=user@address:port`,
    );
  });

  test('two hosts with the same short name are named by their full addresses', () => {
    const hosts = ['gpu.north.example', 'gpu.south.example', 'cpu.north.example'].map((text) =>
      parseHost(text, known),
    );
    expect(distinctNames(hosts)).toEqual([
      { name: 'gpu.north.example' },
      { name: 'gpu.south.example' },
      { name: 'cpu', address: 'cpu.north.example' },
    ]);
  });
});

test('hosts of the configuration and its included files, without patterns and Git servers', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'home-'));
  const config = path.join(home, 'config');
  mkdirSync(path.join(home, 'more'), { recursive: true });
  writeFileSync(
    config,
    `Include ${home}/more/*
Host h200-1 h200-2
  User labadmin
Host h200-2
  HostName 192.0.2.12
  Port 2222
Host github.com *.lab !old
  User git
Host *
  User me
`,
  );
  writeFileSync(path.join(home, 'more/rtx'), 'Host rtx\n  HostName rtx.lab.example\n');
  expect(await sshConfigHosts({ home, user: 'me', env: process.env }, config)).toEqual([
    { name: 'h200-1', leadsTo: 'labadmin@h200-1' },
    { name: 'h200-2', leadsTo: 'labadmin@192.0.2.12:2222' },
    { name: 'rtx', leadsTo: 'me@rtx.lab.example' },
  ]);
  rmSync(home, { recursive: true });
});

test('hosts of a configuration that ssh refuses are named without an address', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'home-'));
  const config = path.join(home, 'config');
  // The parser package throws on these lines as well.
  writeFileSync(config, 'Host h200-1\nHost "open\nHost\nHost b""ad $(id)\nNoSuchOption yes\n');
  const hosts = await sshConfigHosts({ home, user: 'me', env: process.env }, config);
  expect(hosts[0]).toEqual({ name: 'h200-1', leadsTo: '' });
  expect(hosts.map(({ name }) => name)).not.toContain('$(id)');
  rmSync(home, { recursive: true });
});

test.each([
  ['', 'h200-1 h200-2 rtx'],
  ['h200', 'h200-1 h200-2'],
  ['h*-2', 'h200-2'],
  ['192.0.2.11 rtx', 'h200-1 rtx'],
  ['nope', ''],
])('the filter %j leaves %s', (filter, names) => {
  const hosts = [
    { name: 'h200-1', leadsTo: 'a@192.0.2.11' },
    { name: 'h200-2', leadsTo: 'a@192.0.2.12' },
    { name: 'rtx', leadsTo: 'a@192.0.2.13' },
  ];
  expect(
    matching(hosts, filter)
      .map(({ name }) => name)
      .join(' '),
  ).toBe(names);
});

test.each([
  [1, 0, undefined, '~/.ssh/config'],
  [0, 1, undefined, '~/.ssh/known_hosts'],
  [2, 3, undefined, '~/.ssh/config and known_hosts'],
  [2, 0, '/lab/ssh_config', '/lab/ssh_config'],
])('%i hosts of the configuration and %i of known_hosts, with --ssh-config %s', (own, seen, file, named) => {
  const hosts = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `h${at}`, leadsTo: '' }));
  expect(sourceOf(hosts(own), hosts(seen), file)).toBe(named);
});
