import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { SshResolver } from '../../../../../src/fleet/ssh/config/resolver.ts';
import { ownFiles, withInclude, ConfigCopy } from '../../../../../src/fleet/ssh/config/user-config.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'azp-user-config-'));
  mkdirSync(join(home, '.ssh'));
});
afterEach(() => rmSync(home, { recursive: true }));

function write(own: string): void {
  writeFileSync(ownFiles(home).config, withInclude(own, ownFiles(home)));
}

test('the copy has the same lines at the same places, without our include', () => {
  write('# mine\nHost x\n  User u\n');
  const configCopy = new ConfigCopy(ownFiles(home));
  expect(configCopy.isNeeded).toBe(true);
  const file = configCopy.file() ?? '';
  const line = (path: string): number => readFileSync(path, 'utf8').split('\n').indexOf('  User u');
  expect(line(file)).toBe(line(ownFiles(home).config));
  expect(readFileSync(file, 'utf8')).not.toContain('azp-fleet.config');
  configCopy.remove();
  expect(existsSync(file)).toBe(false);
});

test('a file that ssh would reject is not copied', () => {
  write('');
  chmodSync(ownFiles(home).config, 0o666);
  expect(new ConfigCopy(ownFiles(home)).file()).toBeUndefined();
});

test('without our include no copy is needed', () => {
  expect(new ConfigCopy(ownFiles(home)).isNeeded).toBe(false);
});

test('an error names the original file', async () => {
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
