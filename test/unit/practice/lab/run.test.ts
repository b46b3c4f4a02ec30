import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { detach } from '../../../../practice/lab/run.ts';

test('a program that outlives the run does not use its temporary folder', async () => {
  const folder = mkdtempSync(join(process.env['TMPDIR'] ?? '', 'detached-'));
  const log = join(folder, 'log');
  detach('sh', ['-c', 'echo "folder: ${TMPDIR-of the system}"'], log);
  await expect.poll(() => readFileSync(log, 'utf8')).toBe('folder: of the system\n');
  rmSync(folder, { recursive: true });
});
