import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { writeInventory } from '../../../../src/cli/setup/inventory-file.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'write-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = path.join(folder, 'inventory.yaml');

test('a new file is written atomically; an existing one only with replace, and with a backup', () => {
  expect(writeInventory(file, 'one\n', { replace: false })).toBeUndefined();
  expect(() => writeInventory(file, 'two\n', { replace: false })).toThrow(FleetError);
  expect(readFileSync(file, 'utf8')).toBe('one\n');
  expect(writeInventory(file, 'two\n', { replace: true })).toBe(`${file}.bak-1`);
  expect(writeInventory(file, 'three\n', { replace: true })).toBe(`${file}.bak-2`);
  const contents = readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]);
  expect(Object.fromEntries(contents)).toEqual({
    'inventory.yaml': 'three\n',
    'inventory.yaml.bak-1': 'one\n',
    'inventory.yaml.bak-2': 'two\n',
  });
});

test('a missing folder is reported', () => {
  expect(() => writeInventory(path.join(folder, 'none/inventory.yaml'), 'x', { replace: false })).toThrow(
    /none\/inventory\.yaml cannot be written/,
  );
});
