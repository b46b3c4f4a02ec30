import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { commandReference } from '../../../scripts/command-reference.ts';
import { manPage } from '../../../scripts/man-page.ts';
import { version } from '../../../src/shared/base/version.ts';
import { argumentsOf } from '../../../src/cli/command.ts';
import { commands } from '../../../src/cli/commands.ts';

test('docs/commands.md is the output of "npm run docs"', () => {
  expect(readFileSync('docs/commands.md', 'utf8')).toBe(commandReference(commands));
});

test('man/azp-fleet.1 is the output of "npm run docs"', () => {
  expect(readFileSync('man/azp-fleet.1', 'utf8')).toBe(manPage(commands, version));
});

test('help describes every argument', () => {
  const missing = commands.flatMap((command) =>
    argumentsOf(command).flatMap(({ notation, about }) =>
      about === '' ? `${command.name} ${notation}` : [],
    ),
  );
  expect(missing).toEqual([]);
});

test('the version is that of package.json', () => {
  expect(JSON.parse(readFileSync('package.json', 'utf8'))).toMatchObject({ version });
});

test('every command can be loaded', async () => {
  for (const command of commands) expect(await command.load(), command.name).toBeTypeOf('function');
});
