import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { HashedName, HashInput } from '../../../../../src/fleet/ssh/connect/hashed-name.ts';
import {
  checkHostKey,
  knownName,
  type KnownHostLine,
  lineMatches,
  newKnownHost,
  parseKnownHosts,
  KnownHostsFile,
} from '../../../../../src/fleet/ssh/connect/known-hosts.ts';
import { makeKey, publicKey } from '../../../../support/own-sshd.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-known-'));
afterAll(() => rmSync(folder, { recursive: true }));

const keys: Record<'one' | 'two' | 'rsa', { type: string; base64: string }> = {
  one: key('AAAAC3NzaC1lZDI1NTE5AAAAIJb0LwkcnVpSANJKMFnlSMSOt9nWRPPdTYIA4svx1uXv', 'ssh-ed25519'),
  two: key('AAAAC3NzaC1lZDI1NTE5AAAAIF9FWYbhzLQiqRjLJFWm0QPkEdUmqYGbZpgfM4LZLxaM', 'ssh-ed25519'),
  rsa: key(publicKey(makeKey(join(folder, 'rsa'), 'rsa')).split(' ')[1] ?? '', 'ssh-rsa'),
};

function key(base64: string, type: string): { type: string; base64: string } {
  return { type, base64 };
}

describe('the lines for a host', () => {
  // Compares with ssh-keygen -F on the same file.
  const file = join(folder, 'known_hosts');
  let lines: KnownHostLine[] = [];
  beforeAll(() => {
    const ed = `${keys.one.type} ${keys.one.base64}`;
    const text = [
      '# a comment',
      '',
      `plain.example ${ed}`,
      `one.example,two.example,192.0.2.4 ${ed} a comment`,
      `*.lab,!bad.lab ${ed}`,
      `[port.example]:2222 ${ed}`,
      `[*.port.example]:2200,[192.0.2.?]:22 ${ed}`,
      `@revoked revoked.example ${ed}`,
      `@cert-authority *.ca.example ${ed}`,
      `MixedCase.Example ${ed}`,
      `hash-me.example ${ed}`,
      `[hash-me.example]:2022 ${ed}`,
    ].join('\n');
    writeFileSync(file, `${text}\n`);
    const hashed = join(folder, 'hashed');
    writeFileSync(hashed, text.split('\n').slice(-2).join('\n') + '\n');
    execFileSync('ssh-keygen', ['-q', '-H', '-f', hashed], { stdio: 'ignore' });
    writeFileSync(file, `${text.split('\n').slice(0, -2).join('\n')}\n${readFileSync(hashed, 'utf8')}`);
    lines = parseKnownHosts(readFileSync(file, 'utf8'), file);
  });

  const names = [
    'plain.example',
    'PLAIN.example',
    'one.example',
    '192.0.2.4',
    'a.lab',
    'bad.lab',
    '[port.example]:2222',
    'port.example',
    '[x.port.example]:2200',
    'revoked.example',
    'host.ca.example',
    'mixedcase.example',
    'hash-me.example',
    '[hash-me.example]:2022',
    'other.example',
  ];
  test.each(names)('%s', (name) => {
    const ours = lines.filter((line) => lineMatches(line, name.toLowerCase())).map((line) => line.line);
    expect(ours).toEqual(linesByKeygen(file, name));
  });
});

function linesByKeygen(file: string, name: string): number[] {
  try {
    const output = execFileSync('ssh-keygen', ['-F', name, '-f', file], { encoding: 'utf8' });
    return [...output.matchAll(/found: line (\d+)/g)].map((match) => Number(match[1]));
  } catch {
    return [];
  }
}

describe('the verdict on a key', () => {
  const lines = (text: string): KnownHostLine[] => parseKnownHosts(text, 'known_hosts');
  const one = `${keys.one.type} ${keys.one.base64}`;
  const two = `${keys.two.type} ${keys.two.base64}`;
  const rsa = `${keys.rsa.type} ${keys.rsa.base64}`;
  test.each([
    ['the key on file', `h ${one}`, 'known'],
    ['nothing on file', '', 'unknown'],
    ['another host on file', `x ${one}`, 'unknown'],
    ['another key of the same type', `h ${two}`, 'changed'],
    ['several keys, one of them this', `h ${two}\nh ${one}`, 'known'],
    ['only a key of another type', `h ${rsa}`, 'changed'],
    ['this key, revoked for all', `h ${one}\n@revoked * ${one}`, 'revoked'],
    ['another key revoked', `h ${one}\n@revoked * ${two}`, 'known'],
    ['an authority only', `@cert-authority h ${two}`, 'unknown'],
  ])('%s', (_case, text, kind) => {
    expect(checkHostKey(lines(text), 'h', keys.one).kind).toBe(kind);
  });
});

describe('a new line', () => {
  test('is written as by OpenSSH', () => {
    expect(knownName('Host.Example', 22)).toBe('host.example');
    expect(knownName('192.0.2.1', 2222)).toBe('[192.0.2.1]:2222');
    expect(newKnownHost('h', keys.one, false)).toBe(`h ${keys.one.type} ${keys.one.base64}\n`);
  });

  test('hashed, is found by ssh-keygen', () => {
    const file = join(folder, 'new');
    writeFileSync(file, newKnownHost('[h.example]:2222', keys.one, true));
    expect(readFileSync(file, 'utf8')).not.toContain('h.example');
    expect(linesByKeygen(file, '[h.example]:2222')).toEqual([1]);
  });
});

const base64 = 'AAAAC3NzaC1lZDI1NTE5AAAAIJb0LwkcnVpSANJKMFnlSMSOt9nWRPPdTYIA4svx1uXv';
const lineNumbers = (file: KnownHostsFile, ...names: string[]): number[] =>
  file.about(names).map(({ line }) => line);

test('finds plain, patterned and hashed lines by name', () => {
  const path = join(folder, 'mixed');
  const hashed = newKnownHost('h.example', keys.one, true);
  writeFileSync(
    path,
    `a,B.example ssh-ed25519 ${base64}\n*.lab ssh-ed25519 ${base64}\n${hashed}@revoked * ssh-ed25519 ${base64}\n`,
  );
  const file = new KnownHostsFile(path);
  expect(lineNumbers(file, 'b.example')).toEqual([1, 4]);
  expect(lineNumbers(file, 'x.lab')).toEqual([2, 4]);
  expect(lineNumbers(file, 'h.example', 'a')).toEqual([1, 3, 4]);
});

describe('a file with hashed names', () => {
  const names = Array.from({ length: 200 }, (_, index) => `host-${index}.example`);
  const path = join(folder, 'all-hashed');
  const compared = vi.spyOn(HashedName.prototype, 'matches');
  beforeEach(() => {
    compared.mockClear();
    writeFileSync(path, names.map((name) => newKnownHost(name, keys.one, true)).join(''));
  });

  test('compares no line again that has found its name, and no name twice', async () => {
    const file = new KnownHostsFile(path);
    for (const name of names) {
      await file.prepare([name]);
      expect(file.about([name])).toHaveLength(1);
    }
    expect(compared.mock.calls.length).toBe((names.length * (names.length + 1)) / 2);
    compared.mockClear();
    for (const name of names) expect(file.about([name])).toHaveLength(1);
    expect(compared).not.toHaveBeenCalled();
  });

  test('leaves the event loop to others, however many names are compared at once', async () => {
    writeFileSync(path, newKnownHost('h', keys.one, true).repeat(10_000));
    const file = new KnownHostsFile(path);
    file.about([]);
    let most = 0;
    const turn = (): void => {
      most = Math.max(most, compared.mock.calls.length);
      compared.mockClear();
    };
    const watch = setInterval(turn, 0);
    const watchEnd = (): void => clearInterval(watch);
    await Promise.all(names.slice(0, 4).map((name) => file.prepare([name]))).finally(watchEnd);
    // A timer is due at each turn, but may be late by one.
    expect(most).toBeLessThan(10_000);
  });

  test('is read again when another program has changed it', async () => {
    const file = new KnownHostsFile(path);
    await file.prepare(['late.example']);
    expect(file.about(['late.example'])).toEqual([]);
    appendFileSync(path, newKnownHost('late.example', keys.two, true));
    expect(file.about(['late.example'])).toHaveLength(1);
  });

  test.each(['|1|AAAA|AAAA', '|2|SALT|HASH', '|1|SALT|HASH|', '|1|SALT', '|1|HASH=|SALT'])(
    'takes %s for no name',
    (text) => {
      const [, , salt = '', hash = ''] = newKnownHost('h', keys.one, true).split(/[| ]/);
      const broken = text.replace('SALT', salt).replace('HASH', hash);
      expect(HashedName.parse(broken)).toBeUndefined();
    },
  );

  test('has the names of any length that HMAC finds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const [, line = ''] = /^(\S+)/.exec(newKnownHost(name, keys.one, true)) ?? [];
        expect(HashedName.parse(line)?.matches(new HashInput(name))).toBe(true);
        expect(HashedName.parse(line)?.matches(new HashInput(`${name}x`))).toBe(false);
      }),
    );
  });
});

test('finds lines that it appended, hashed or not, and lines that others append', () => {
  const path = join(folder, 'fresh/known_hosts');
  const file = new KnownHostsFile(path);
  expect(file.about(['a'])).toEqual([]);
  file.append(newKnownHost('a', keys.one, false), 'a');
  file.append(newKnownHost('b', keys.one, true), 'b');
  expect(file.about(['a'])).toHaveLength(1);
  expect(file.about(['b'])).toHaveLength(1);
  appendFileSync(path, `c ssh-ed25519 ${base64}`);
  expect(file.about(['c'])).toHaveLength(1);
  file.append(newKnownHost('d', keys.one, false), 'd');
  const line = `ssh-ed25519 ${base64}\n`;
  expect(readFileSync(path, 'utf8').endsWith(`\nc ${line}d ${line}`)).toBe(true);
});

test('a missing file, or a folder, has no lines', () => {
  expect(new KnownHostsFile(join(folder, 'absent')).about(['a'])).toEqual([]);
  expect(new KnownHostsFile(folder).about(['a'])).toEqual([]);
});
