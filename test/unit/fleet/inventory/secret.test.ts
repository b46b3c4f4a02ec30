import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import type { SecretSource } from '../../../../src/fleet/inventory/fleet.ts';
import { expiryWarning, resolveSecret, type SecretContext } from '../../../../src/fleet/inventory/secret.ts';
import { lines } from './fixture.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'secret-'));
afterAll(() => rmSync(folder, { recursive: true }));

const context: SecretContext = {
  env: { AZP_TOKEN: 'from-env', EMPTY: '', PATH: process.env['PATH'] },
  cwd: folder,
  purpose: 'the token',
  hide: ['AZP_TOKEN'],
};

async function failure(source: SecretSource): Promise<string> {
  try {
    await resolveSecret(source, context);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    expect(error.exitCode).toBe(2);
    return lines(error.problem).replaceAll(folder, 'FOLDER');
  }
  return expect.unreachable();
}

function file(name: string, text: string, mode: number): string {
  const full = path.join(folder, name);
  writeFileSync(full, text);
  chmodSync(full, mode);
  return full;
}

describe('found', () => {
  test.each([
    ['in a variable', { env: 'AZP_TOKEN' }, 'from-env'],
    ['in a file, without its last newline', { file: file('good', 'from-file\n', 0o600) }, 'from-file'],
    ['by a command', { cmd: 'printf "%s\\r\\n" from-cmd' }, 'from-cmd'],
    ['by a command, which inherits no secrets', { cmd: 'echo "[$AZP_TOKEN]"' }, '[]'],
  ])('%s', async (_, source, value) => {
    const secret = await resolveSecret(source, context);
    expect(secret.reveal()).toBe(value);
    expect(String(secret)).toBe('***');
  });

  test('by a prompt', async () => {
    const asked: string[] = [];
    const ask = (message: string) => Promise.resolve(`typed ${asked.push(message)}`);
    expect((await resolveSecret({ prompt: true }, { ...context, ask })).reveal()).toBe('typed 1');
    expect(asked).toEqual(['The token:']);
  });
});

describe('not found', () => {
  test.each([
    [
      'variable not set',
      { env: 'NOPE' },
      'the token cannot be read: the environment variable NOPE is not set\nnext: read -rs NOPE && export NOPE',
    ],
    [
      'variable empty',
      { env: 'EMPTY' },
      'the token cannot be read: the environment variable EMPTY is empty\nnext: read -rs EMPTY && export EMPTY',
    ],
    [
      'no file',
      { file: path.join(folder, 'none') },
      'the token cannot be read from FOLDER/none\nseen: no such file\nnext: write it there and press Ctrl-D: (umask 077; cat > FOLDER/none)',
    ],
    [
      'file readable by other users',
      { file: file('open', 'x', 0o640) },
      'the token is in a file that other users can read: FOLDER/open\nexpected: mode 0600\nseen: mode 0640\nnext: chmod 600 FOLDER/open',
    ],
    [
      'empty file',
      { file: file('empty', '\n', 0o600) },
      'the token is empty\nseen: nothing from the file FOLDER/empty\nnext: write it there and press Ctrl-D: (umask 077; cat > FOLDER/empty)',
    ],
    [
      'command failed: its stderr is shown, never its stdout',
      { cmd: 'echo leaked; echo gpg: no key >&2; exit 3' },
      'the token cannot be read: the command echo leaked; echo gpg: no key >&2; exit 3 failed\nseen: exit code 3: gpg: no key\nnext: run it yourself: echo leaked; echo gpg: no key >&2; exit 3',
    ],
    [
      'no terminal',
      { prompt: true as const },
      'the token needs a prompt, but there is no terminal\nnext: run this in a terminal, or use { env: NAME }, { file: PATH } or { cmd: "COMMAND" }',
    ],
  ])('%s', async (_, source, expected) => {
    expect(await failure(source)).toBe(expected);
  });
});

test.each([
  [undefined, undefined],
  ['2027-05-01', undefined],
  ['2026-12-01', 'the token expires on 2026-12-01, in 10 days'],
  ['2026-11-21', 'the token expired on 2026-11-21'],
  ['2026-01-01', 'the token expired on 2026-01-01'],
])('a token that expires on %s', (expires, what) => {
  expect(expiryWarning(expires, Date.parse('2026-11-21T12:00:00Z'))?.what).toBe(what);
});
