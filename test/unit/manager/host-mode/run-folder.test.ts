import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { folderTails } from '../../../../src/manager/host-mode/run-folder.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tails-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const inside = (name: string): string => join(directory, 'diag', name);
const read = async (folder = 'diag') => {
  const limits = { files: 2, fileBytes: 4, streamBytes: 1 };
  const found = await folderTails(join(directory, folder), (name) => name.endsWith('.log'), limits);
  return found.map(({ name, bytes, end }) => [name, bytes, end.toString()]);
};

test('reads the end of each file, sorted by name', async () => {
  mkdirSync(inside(''), { recursive: true });
  writeFileSync(inside('c.log'), 'c');
  writeFileSync(inside('b.log'), '');
  writeFileSync(inside('a.log'), 'first and last');
  writeFileSync(inside('a.txt'), 'x');
  expect(await read()).toEqual([
    ['a.log', 14, 'last'],
    ['b.log', 0, ''],
  ]);
});

test('follows no links to files of other users, and does not wait for pipes', async () => {
  const secret = join(directory, 'secret');
  writeFileSync(secret, 'secret');
  mkdirSync(inside('a.log'), { recursive: true });
  symlinkSync(secret, inside('b.log'));
  expect(await read()).toEqual([]);
  rmSync(inside(''), { recursive: true });
  mkdirSync(inside(''));
  linkSync(secret, inside('a.log'));
  execFileSync('mkfifo', [inside('b.log')]);
  expect(await read()).toEqual([]);
});

test('opens no link to a folder and no missing folder', async () => {
  mkdirSync(join(directory, 'elsewhere'));
  writeFileSync(join(directory, 'elsewhere', 'a.log'), 'secret');
  symlinkSync(join(directory, 'elsewhere'), join(directory, 'diag'));
  await expect(read()).rejects.toThrow(/ELOOP|ENOTDIR/);
  await expect(read('nowhere')).rejects.toThrow(/ENOENT/);
});
