import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { SshResolver } from '../../../../../src/fleet/ssh/config/resolver.ts';
import { ownFiles, withInclude, StandIn } from '../../../../../src/fleet/ssh/config/user-config.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'azp-stand-in-'));
  mkdirSync(join(home, '.ssh'));
});
afterEach(() => rmSync(home, { recursive: true }));

function write(own: string): void {
  writeFileSync(ownFiles(home).config, withInclude(own, ownFiles(home)));
}

test('it says all that is there, at the same lines, but for what is ours', () => {
  write('# mine\nHost x\n  User u\n');
  const standIn = new StandIn(ownFiles(home));
  expect(standIn.isNeeded).toBe(true);
  const file = standIn.file() ?? '';
  const line = (path: string): number => readFileSync(path, 'utf8').split('\n').indexOf('  User u');
  expect(line(file)).toBe(line(ownFiles(home).config));
  expect(readFileSync(file, 'utf8')).not.toContain('azp-fleet.config');
  standIn.remove();
  expect(existsSync(file)).toBe(false);
});

test('what ssh would refuse is not read in its place', () => {
  write('');
  chmodSync(ownFiles(home).config, 0o666);
  expect(new StandIn(ownFiles(home)).file()).toBeUndefined();
});

test('where nothing of ours is, it is not needed', () => {
  expect(new StandIn(ownFiles(home)).isNeeded).toBe(false);
});

test('a mistake is told of with the name of the file that it is in', async () => {
  write('Host x\n  Nonsense yes\n');
  const resolver = new SshResolver({
    home,
    user: 'me',
    env: { PATH: process.env['PATH'] },
    notice: () => undefined,
    hosts: [],
  });
  const { seen, next } = await problemOf(resolver.resolve('x', sshSpec({})));
  resolver.close();
  expect(seen).toContain(`${ownFiles(home).config}: line 5: Bad configuration option: nonsense`);
  expect(next).toBe('correct these lines, then run: ssh -G x');
});
