import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { systemClock } from '../../../../src/shared/base/clock.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { createFileLogger, logLimits } from '../../../../src/shared/base/file-log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';

const clock = systemClock(1);

const folder = mkdtempSync(join(tmpdir(), 'azp-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

function lines(path: string): Record<string, unknown>[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('writes one JSON line for each call, into a file that only its owner can read', () => {
  const log = createFileLogger(join(folder, 'new/run.log'), clock);
  log.log('info', 'hello', { host: 'a', multi: 'two\nlines' });
  log.log('debug', 'again');
  log.close();
  log.log('debug', 'after the end: ignored');
  expect(lines(log.path)).toMatchObject([
    { level: 'info', message: 'hello', host: 'a', multi: 'two\nlines' },
    { level: 'debug', message: 'again' },
  ]);
  expect(statSync(log.path).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700);
});

test('hides secrets everywhere, and keeps the fields of errors', () => {
  const log = createFileLogger(join(folder, 'secret.log'), clock);
  const secret = new Secret('p"w\\d');
  log.redact(secret);
  const error = new FleetError(
    { code: 'ssh.auth', what: 'failed with p"w\\d' },
    { cause: new Error('p"w\\d') },
  );
  log.log('error', 'p"w\\d', { secret, error, list: ['p"w\\d'] });
  log.close();
  const text = readFileSync(log.path, 'utf8');
  expect(text).not.toContain('p\\"w');
  expect(lines(log.path)[0]).toMatchObject({
    message: '***',
    secret: '***',
    list: ['***'],
    error: { code: 'ssh.auth', what: 'failed with ***', cause: { message: '***' } },
  });
});

test('a host with endless output leaves room for other hosts, and for its errors', () => {
  const log = createFileLogger(join(folder, 'flood.log'), clock);
  const line = 'y'.repeat(1000);
  for (let count = 0; count < 5_000; count += 1) log.log('debug', 'change-output', { host: 'loud', line });
  log.log('debug', 'change-output', { host: 'quiet', line: 'hello' });
  log.log('error', 'it failed', { host: 'loud' });
  log.close();
  expect(statSync(log.path).size).toBeLessThan(logLimits.host + 10_000);
  const kept = lines(log.path).filter(({ line: said }) => said !== line);
  expect(kept).toMatchObject([
    { level: 'warn', message: 'debug log limit reached: omitting further lines of loud' },
    { host: 'quiet', line: 'hello' },
    { level: 'error', host: 'loud' },
  ]);
});

test('many hosts together, and errors, also have a limit', () => {
  const log = createFileLogger(join(folder, 'floods.log'), clock);
  const text = 'y'.repeat(15_000);
  for (let count = 0; count < 4_000; count += 1) log.log('debug', 'x', { host: `h${count % 50}`, text });
  for (let count = 0; count < 1_000; count += 1) log.log('error', 'x', { text });
  log.close();
  expect(statSync(log.path).size).toBeLessThan(logLimits.debug + logLimits.rest + 100_000);
});

test('a full disk loses log lines and does not stop the run', () => {
  const log = createFileLogger('/dev/full', clock);
  expect(() => log.log('info', 'hello')).not.toThrow();
  log.close();
});
