import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { damagedCopy, readKept, replaceKept } from '../../../../src/manager/machine/files.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kept-'));
  path = join(directory, 'sub', 'file.json');
});
afterEach(() => rmSync(directory, { recursive: true }));

const read = () => readKept(path, (text) => JSON.parse(text) as unknown);

test('a written file is readable by root only, and its previous version is kept', async () => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  await replaceKept(path, '3');
  expect(await read()).toEqual({ value: 3 });
  expect(readFileSync(`${path}.previous`, 'utf8')).toBe('2');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(directory, 'sub'))).toEqual(['file.json', 'file.json.previous']);
});

test('a missing file is undefined', async () => {
  expect(await read()).toBeUndefined();
});

test.each([
  ['empty', ''],
  ['cut off', '{"a": [1,'],
  ['zeroes, as some file systems leave them after a power cut', '\0\0\0\0'],
])('a damaged file (%s) is read from its previous version, with the damage', async (_, damage) => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  writeFileSync(path, damage);
  expect(await read()).toEqual({ value: 1, damage: expect.stringContaining('JSON') as string });
});

test('a deleted file is read from its previous version, with the damage', async () => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  rmSync(path);
  expect(await read()).toEqual({ value: 1, damage: 'the file is missing' });
});

test('a write keeps the previous version of a file that was deleted', async () => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  rmSync(path);
  await replaceKept(path, '3');
  expect(await read()).toEqual({ value: 3 });
  rmSync(path);
  expect(await read()).toEqual({ value: 1, damage: 'the file is missing' });
});

test('a deleted file with a damaged previous version is not missing', async () => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  rmSync(path);
  writeFileSync(`${path}.previous`, '{');
  await expect(read()).rejects.toMatchObject({
    problem: { code: 'file.damaged', seen: expect.stringContaining('the file is missing; ') as string },
  });
});

test('if both versions are damaged, the error names the file and the next action', async () => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  writeFileSync(path, '');
  writeFileSync(`${path}.previous`, '{');
  await expect(read()).rejects.toMatchObject({
    problem: {
      code: 'file.damaged',
      what: `${path} cannot be read`,
      next: expect.stringContaining('restore it from a backup') as string,
    },
  });
});

test('a file that cannot be opened is not missing', async () => {
  mkdirSync(path, { recursive: true });
  await expect(read()).rejects.toMatchObject({
    problem: { seen: expect.stringContaining('EISDIR') as string },
  });
});

test('a damaged file is kept for inspection, and the previous version stays', async () => {
  await replaceKept(path, '1');
  await replaceKept(path, '2');
  writeFileSync(path, 'torn');
  await replaceKept(path, '1', damagedCopy(path));
  expect(readFileSync(damagedCopy(path), 'utf8')).toBe('torn');
  expect(readFileSync(`${path}.previous`, 'utf8')).toBe('1');
  expect(await read()).toEqual({ value: 1 });
});

test('a failed write leaves no partial file', async () => {
  await replaceKept(path, '1');
  rmSync(join(directory, 'sub', 'file.json'));
  mkdirSync(join(path, 'in the way'), { recursive: true });
  await expect(replaceKept(path, '2')).rejects.toThrow();
  expect(readdirSync(join(directory, 'sub'))).toEqual(['file.json']);
});
