import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { checkReferences } from '../../../../../src/fleet/inventory/references.ts';
import { fleet, lines } from '../fixture.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'references-'));
afterAll(() => rmSync(folder, { recursive: true }));

const now = Date.parse('2026-11-21T00:00:00Z');

function warnings(text: string, env: Record<string, string> = {}): string[] {
  return checkReferences(fleet(text), { env, now }).map((problem) =>
    lines(problem).replaceAll(folder, 'FOLDER'),
  );
}

test('a token that is set gets no warning', () => {
  expect(warnings('hosts: { a: { pool: p } }\n', { AZP_TOKEN: 'x' })).toEqual([]);
});

test('variables that are not set, files that are missing or readable by other users', () => {
  const open = path.join(folder, 'open');
  writeFileSync(open, 'x', { mode: 0o644 });
  const text = `ca: ${folder}/ca.pem
hosts:
  a: { pool: p, sudoPassword: { file: ${open} }, identityFile: ${folder}/key }
  b: { pool: p, sudoPassword: { file: ${folder}/none }, identityFile: ${folder}/key }
  c: { pool: p, loginPassword: { cmd: pass } }
`;
  expect(warnings(text)).toEqual([
    'the token: environment variable AZP_TOKEN is not set\nnext: read -rs AZP_TOKEN && export AZP_TOKEN',
    'the sudo password of a is in a file that other users can read: FOLDER/open\nexpected: mode 0600\nseen: mode 0644\nnext: chmod 600 FOLDER/open',
    'the file of the sudo password of b FOLDER/none cannot be read\nseen: no such file\nnext: write it there and press Ctrl-D: (umask 077; cat > FOLDER/none)',
    'the CA file FOLDER/ca.pem cannot be read\nseen: no such file\nnext: correct "ca:" in the inventory, or copy the file there',
    'the private key FOLDER/key cannot be read\nseen: no such file\nnext: correct identityFile in the inventory, or copy the key there',
  ]);
});

test('a password that many hosts share is checked once', () => {
  const hosts = Array.from({ length: 300 }, (_, index) => `gpu-${String(index).padStart(3, '0')}: {}`);
  const text = `defaults: { pool: p, sudoPassword: { env: SUDO } }\nhosts: { ${hosts.join(', ')} }\n`;
  expect(warnings(text, { AZP_TOKEN: 'x' })).toEqual([
    'the sudo password of gpu-[000-299]: environment variable SUDO is not set\nnext: read -rs SUDO && export SUDO',
  ]);
});
