import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { silentLogger } from '../../../../src/shared/base/log.ts';
import { tokenReader } from '../../../../src/manager/start/configuration.ts';

let folder: string;
let loaded: string;
let installed: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-token-'));
  loaded = join(folder, 'loaded');
  installed = join(folder, 'installed');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string, seconds: number): void {
  writeFileSync(path, text);
  utimesSync(path, seconds, seconds);
}

const read = async (): Promise<string> => (await tokenReader([loaded, installed], silentLogger)()).reveal();

test('the credential that systemd loaded is used until its source is replaced', async () => {
  write(installed, 'first\n', 1000);
  write(loaded, 'first\n', 2000);
  expect(await read()).toBe('first');
  write(installed, 'second\n', 3000);
  expect(await read()).toBe('second');
});

test('an emptied file does not hide the credential that systemd loaded', async () => {
  write(loaded, 'first\n', 1000);
  write(installed, '\n', 2000);
  expect(await read()).toBe('first');
});

test('a missing credential is reported with its paths', async () => {
  await expect(read()).rejects.toThrow(`${loaded}, ${installed} cannot be read or is empty`);
});
