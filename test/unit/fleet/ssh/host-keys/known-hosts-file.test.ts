import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { newKnownHost } from '../../../../../src/fleet/ssh/host-keys/known-hosts.ts';
import { KnownHostsFile } from '../../../../../src/fleet/ssh/host-keys/known-hosts-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-known-file-'));
afterAll(() => rmSync(folder, { recursive: true }));
const base64 = 'AAAAC3NzaC1lZDI1NTE5AAAAIJb0LwkcnVpSANJKMFnlSMSOt9nWRPPdTYIA4svx1uXv';
const key = { type: 'ssh-ed25519', base64 };
const lineNumbers = (file: KnownHostsFile, ...names: string[]): number[] =>
  file.about(names).map(({ line }) => line);

test('finds plain, patterned and hashed lines by name', () => {
  const path = join(folder, 'mixed');
  const hashed = newKnownHost('h.example', key, true);
  writeFileSync(
    path,
    `a,B.example ssh-ed25519 ${base64}\n*.lab ssh-ed25519 ${base64}\n${hashed}@revoked * ssh-ed25519 ${base64}\n`,
  );
  const file = new KnownHostsFile(path);
  expect(lineNumbers(file, 'b.example')).toEqual([1, 4]);
  expect(lineNumbers(file, 'x.lab')).toEqual([2, 4]);
  expect(lineNumbers(file, 'h.example', 'a')).toEqual([1, 3, 4]);
});

test('knows what it appended, hashed or not, and what others append', () => {
  const path = join(folder, 'new/known_hosts');
  const file = new KnownHostsFile(path);
  expect(file.about(['a'])).toEqual([]);
  file.append(newKnownHost('a', key, false), 'a');
  file.append(newKnownHost('b', key, true), 'b');
  expect(file.about(['a'])).toHaveLength(1);
  expect(file.about(['b'])).toHaveLength(1);
  appendFileSync(path, `c ssh-ed25519 ${base64}`);
  expect(file.about(['c'])).toHaveLength(1);
  file.append(newKnownHost('d', key, false), 'd');
  const line = `ssh-ed25519 ${base64}\n`;
  expect(readFileSync(path, 'utf8').endsWith(`\nc ${line}d ${line}`)).toBe(true);
});

test('a file that is not there, or not a file, holds nothing', () => {
  expect(new KnownHostsFile(join(folder, 'absent')).about(['a'])).toEqual([]);
  expect(new KnownHostsFile(folder).about(['a'])).toEqual([]);
});
