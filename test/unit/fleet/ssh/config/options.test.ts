import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { describe, expect, test } from 'vitest';

import { chainOf } from '../../../../../src/fleet/ssh/config/options.ts';
import { isHostName, isUserName, parseHop } from '../../../../../src/shared/base/jump-chain.ts';
import { problemOf } from '../../../../support/transport.ts';

// The oracle is the system's own ssh, character by character.

const characters = Array.from({ length: 127 }, (_, index) => `a${String.fromCharCode(index + 1)}b`);
const more = [
  '-a',
  'a-',
  'a\\',
  'a -b',
  'a b',
  '_a',
  'gpu-1.lab.example',
  '2001:db8::7',
  'LAB\\ann',
  'größe',
];

async function sshTakes(...args: string[]): Promise<boolean> {
  const [code] = (await once(spawn('ssh', ['-F', 'none', '-G', ...args], { stdio: 'ignore' }), 'close')) as [
    number,
  ];
  return code === 0;
}

test.each<[string, (text: string) => boolean, (text: string) => string[]]>([
  ['the name of a host', isHostName, (text) => ['--', text]],
  ['the name of a user', isUserName, (text) => ['-l', text, '--', 'host']],
])('%s is accepted or refused as by ssh', async (_, ours, args) => {
  const names = [...characters, ...more];
  const theirs: string[] = [];
  for (const name of names) if (await sshTakes(...args(name))) theirs.push(name);
  expect(names.filter(ours)).toEqual(theirs);
});

test('an empty text is not a name', () => {
  expect([isHostName(''), isUserName('')]).toEqual([false, false]);
});

describe('a chain of jump hosts', () => {
  test.each([
    ['host', { host: 'host' }],
    ['ann@host', { host: 'host', user: 'ann' }],
    ['ann@host:22', { host: 'host', user: 'ann', port: 22 }],
    ['ann@LAB.EXAMPLE@gate:22', { host: 'gate', user: 'ann@LAB.EXAMPLE', port: 22 }],
    ['[2001:db8::1]:2222', { host: '2001:db8::1', port: 2222 }],
    ['ann@[2001:db8::1]', { host: '2001:db8::1', user: 'ann' }],
  ])('%s', (text, hop) => {
    expect(parseHop(text)).toEqual(hop);
  });

  test('as ssh_config has it', () => {
    expect(chainOf('ann@one:22, two,ssh://bob@three:23/', 'box')).toEqual([
      'ann@one:22',
      'two',
      'bob@three:23',
    ]);
    expect([chainOf('none', 'box'), chainOf('', 'box')]).toEqual([[], []]);
  });

  test.each([
    '$(touch x)',
    'a;b',
    '-oProxyCommand=x',
    'one,,two',
    '2001:db8::1',
    'h:0',
    'h:99999',
    '`x`@h',
    '@h',
  ])('%s is refused, as by ssh', async (jump) => {
    const problem = await problemOf((async () => chainOf(jump, 'box'))());
    expect(problem).toMatchObject({ code: 'ssh.config', host: 'box' });
    expect(await sshTakes('-J', jump, '--', 'host')).toBe(false);
  });
});
