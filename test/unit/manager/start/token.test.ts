import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { Secret } from '../../../../src/shared/base/secret.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { tokenPaths, tokenReader } from '../../../../src/manager/start/configuration.ts';
import { journalLogger } from '../../../../src/manager/start/reporting.ts';
import { fault } from '../../../support/fault.ts';

let folder: string;
let loaded: string;
let installed: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-token-'));
  loaded = join(folder, 'token');
  installed = join(folder, 'installed');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string, seconds: number): void {
  writeFileSync(path, text);
  utimesSync(path, seconds, seconds);
}

const manager = () => tokenReader(tokenPaths(undefined, folder, installed), silentLogger);
const read = async (): Promise<string> => (await manager()()).reveal();

/** Replaces the credential of a running manager, with this time of its file. */
async function replaced(seconds: number): Promise<string> {
  write(installed, 'first\n', 2000);
  write(loaded, 'first\n', 2000);
  const secret = manager();
  expect((await secret()).reveal()).toBe('first');
  write(installed, 'second\n', seconds);
  return (await secret()).reveal();
}

test('a new credential is used', async () => {
  expect(await replaced(3000)).toBe('second');
});

// As a backup or `cp -p` restores it, and as a clock that was set writes it.
fault('token-older', 'a new credential is used that is older than the one that systemd loaded', async () => {
  expect(await replaced(1000)).toBe('second');
});

test('an emptied file does not hide the credential that systemd loaded', async () => {
  write(loaded, 'first\n', 1000);
  write(installed, '\n', 2000);
  expect(await read()).toBe('first');
});

test('a credential that is removed or cannot be read does not hide the one that systemd loaded', async () => {
  write(loaded, 'first\n', 1000);
  expect(await read()).toBe('first');
  mkdirSync(installed);
  expect(await read()).toBe('first');
});

test('the key of an earlier login is refused where the configuration has another one', async () => {
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----';
  write(installed, key, 1000);
  await expect(read()).rejects.toThrow('the stored credential is a private key, which is not sent');
  expect((await tokenReader([installed], silentLogger, true)()).reveal()).toBe(key);
});

test('of tokens that are replaced for years the log hides the last ones, and the one that stays', async () => {
  const lines: string[] = [];
  const log = journalLogger((line) => lines.push(line), false);
  const password = new Secret('a password that is registered at each use');
  const of = (hour: number) =>
    `${hour}.${createHash('sha256').update(String(hour)).digest('hex').repeat(30)}`;
  for (let hour = 0; hour <= 200; hour += 1) {
    write(installed, of(hour), 1000);
    await tokenReader([installed], log)();
    log.redact(password);
  }
  for (const text of [of(200), of(190), password.reveal(), of(0)]) log.log('info', text);
  expect(lines.map((line) => line.slice(3, -1))).toEqual(['***', '***', '***', of(0)]);
});

test('a missing credential is reported with its paths', async () => {
  await expect(read()).rejects.toThrow(`${installed}, ${loaded} cannot be read, is empty or too long`);
});
