// The file of the webhook's address, which is a secret.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Redactor } from '../../../../src/shared/base/redact.ts';
import { journalLogger } from '../../../../src/manager/start/reporting.ts';
import { addressReader } from '../../../../src/manager/webhook/messenger.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'address-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the address', () => {
  const lines: string[] = [];
  const redactor = new Redactor();
  const log = journalLogger((line) => lines.push(line), false, redactor);

  test('is read each time, and hidden in the log, whole and in parts', async () => {
    const path = join(folder, 'webhook');
    const read = addressReader(path, log);
    writeFileSync(path, 'https://hooks.lab.example/services/T0/first-secret?key=k3y\n');
    expect((await read()).reveal()).toBe('https://hooks.lab.example/services/T0/first-secret?key=k3y');
    writeFileSync(path, 'https://hooks.lab.example/services/T0/second-secret');
    await read();
    log.log('info', 'https://hooks.lab.example/services/T0/first-secret?key=k3y');
    log.log('info', 'connect to /services/T0/second-secret failed', {
      path: '/services/T0/first-secret?key=k3y',
    });
    expect(lines.join('')).not.toMatch(/first|second|k3y/);
  });

  test.each(['', 'hooks.lab.example', 'ftp://hooks.lab.example/secret-path', 'two words'])(
    'that is invalid is refused without being shown: %s',
    async (text) => {
      const path = join(folder, 'webhook');
      writeFileSync(path, text);
      const error: unknown = await addressReader(path, log)().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ problem: { code: 'webhook.unusable', seen: 'no address in it' } });
      if (text !== '') expect(JSON.stringify(error)).not.toContain(text);
    },
  );

  test('that is missing is reported', async () => {
    await expect(addressReader(join(folder, 'none'), log)()).rejects.toMatchObject({
      problem: { code: 'webhook.unusable', seen: 'ENOENT' },
    });
  });
});
