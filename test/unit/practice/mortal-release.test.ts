import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { makeMortal } from '../../lab/support/mortal/release.ts';

test('the CLI that kills itself in the crash test still builds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mortal-'));
  await makeMortal(folder);
  expect(existsSync(join(folder, 'dist/cli.mjs'))).toBe(true);
});
