import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { buildKilledCli } from '../../lab/support/killed-cli/release.ts';

test('the CLI that kills itself in the crash test still builds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'killed-cli-'));
  await buildKilledCli(folder);
  expect(existsSync(join(folder, 'dist/cli.mjs'))).toBe(true);
});
