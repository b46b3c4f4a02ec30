// The secrets of an inventory: no child process inherits them, and the redactor knows them from the start.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { Secret } from '../../../../src/shared/base/secret.ts';
import { openInventory } from '../../../../src/cli/run/inventory.ts';
import { credentialSource } from '../../../../src/fleet/inventory/secret.ts';
import { resolve } from '../../../../src/cli/run/secrets.ts';
import { quietContext, runCommand } from '../../../support/command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'azp-secrets-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const environmentFile = join(cwd, 'environment');
const secrets = {
  AZP_PAT: 'the-pat-itself',
  REG: 'the-registry-word',
  SUDO: 'the-sudo-word',
  LOGIN: 'the-login-word',
  HOOK: 'https://hooks.lab.example/the-hook',
};
const env = { PATH: '/usr/bin:/bin', HARMLESS: 'kept', ...secrets };
const printEnvironment = `env >>${environmentFile}`;
beforeEach(() => rmSync(environmentFile, { force: true }));

writeFileSync(
  join(cwd, 'config'),
  `Match exec "${printEnvironment}"\n  User lab\nHost *\n  ProxyCommand ${printEnvironment}; exit 1\n`,
);
writeFileSync(join(cwd, 'word'), 'the-word-in-a-file\n', { mode: 0o600 });

function inventory(token: string): string {
  const file = join(cwd, 'lab.yaml');
  writeFileSync(
    file,
    `organization: https://dev.azure.com/example
token: ${token}
registries: { registry.lab.example: { user: ci, secret: { env: REG } } }
defaults: { pool: p, user: lab, sshConfig: config, sudoPassword: { env: SUDO }, loginPassword: { env: LOGIN } }
hosts:
  one: { address: 192.0.2.1, webhook: { url: { env: HOOK } } }
  two: { address: 192.0.2.2, sudoPassword: { file: word } }
  three: { address: 192.0.2.3, sudoPassword: { cmd: "${printEnvironment}; echo from-cmd" } }
  four: { address: 192.0.2.4, sudoPassword: { file: none }, transport: openssh }
`,
  );
  return file;
}

test.each([
  ['inventory show', ['inventory', 'show', 'one', '-i', 'lab.yaml']],
  ['ssh', ['ssh', 'one', '-i', 'lab.yaml', '--', 'true']],
  ['exec, by both transports', ['exec', '-i', 'lab.yaml', '--limit', 'one', '--limit', 'four', '--', 'true']],
])('%s: neither Match exec nor ProxyCommand inherits a secret', async (_, argv) => {
  inventory('{ env: AZP_PAT }');
  await runCommand(argv, { cwd, env });
  const seen = readFileSync(environmentFile, 'utf8');
  expect(seen).toContain('HARMLESS=kept');
  for (const secret of Object.values(secrets)) expect(seen).not.toContain(secret);
});

test('a command that prints one secret does not inherit the others', async () => {
  const { context } = quietContext({ cwd, env });
  const fleet = openInventory(context, inventory(`{ cmd: "${printEnvironment}; echo token" }`));
  await resolve(context, fleet, credentialSource(fleet), 'the token');
  const seen = readFileSync(environmentFile, 'utf8');
  for (const [name, secret] of Object.entries(secrets))
    if (name !== 'AZP_PAT') expect(seen).not.toContain(secret);
});

test('secrets from variables and files are redacted as soon as the inventory is read', () => {
  const { context } = quietContext({ cwd, env });
  const hidden: string[] = [];
  const log = { ...silentLogger, redact: (secret: Secret) => void hidden.push(secret.reveal()) };
  openInventory({ ...context, log }, inventory('{ env: AZP_PAT }'));
  expect(hidden.sort()).toEqual([...Object.values(secrets), 'the-word-in-a-file'].sort());
  expect(existsSync(environmentFile)).toBe(false);
});

test('a warning about a password goes where the caller shows it, not between the lines of a live display', async () => {
  inventory('{ env: AZP_PAT }');
  const { context, written } = quietContext({ cwd, env: { ...env, SHORT: 'abc' } });
  const fleet = openInventory(context, 'lab.yaml');
  const noted: string[] = [];
  await resolve(context, fleet, { env: 'SHORT' }, 'the password', (text) => noted.push(text));
  expect(noted).toEqual([expect.stringContaining('too short to be redacted')]);
  expect(written.stderr).toBe('');
});

describe('the end of a token', () => {
  const run = async (command: string, expires: string) => {
    inventory(`{ env: UNSET, expires: ${expires} }`);
    const argv = [...command.split(' '), '-i', 'lab.yaml'];
    return (await runCommand(argv, { cwd, env, terminal: { columns: 80, rows: 24 } })).stderr;
  };
  const inTenDays = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);

  test.each(['plan', 'status', 'pool list', 'provision --dry-run', 'remove one'])(
    'that is near is one line before %s, which uses it',
    async (command) => {
      const [warning, next = ''] = (await run(command, inTenDays)).split('\n');
      expect(warning).toMatch(/^! the token expires on [-\d]{10}, in \d+ days \[inventory\.token-expires\]$/);
      expect(next).toMatch(/^✗ /);
    },
  );

  test('that has passed has a next action', async () => {
    const [warning, next] = (await run('plan', '2020-01-01')).split('\n');
    expect(warning).toBe('! the token expired on 2020-01-01');
    expect(next).toMatch(/^ {2}next +create a new one in Azure DevOps/);
  });

  test.each(['inventory list', 'logs none', 'ssh-config'])('is no line before %s', async (command) => {
    expect(await run(command, '2020-01-01')).not.toContain('expired');
    expect(await run(command, inTenDays)).not.toContain('expires');
  });
});
