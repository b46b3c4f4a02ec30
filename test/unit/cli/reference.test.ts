import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { commandReference } from '../../../scripts/command-reference.ts';
import { version } from '../../../src/base/version.ts';
import { commands } from '../../../src/cli/commands.ts';

test('docs/commands.md is what "npm run docs" writes', () => {
  expect(readFileSync('docs/commands.md', 'utf8')).toBe(commandReference(commands));
});

test('the version is that of package.json', () => {
  expect(JSON.parse(readFileSync('package.json', 'utf8'))).toMatchObject({ version });
});

test('every command can be loaded', async () => {
  for (const command of commands) expect(await command.load(), command.name).toHaveProperty('run');
});
