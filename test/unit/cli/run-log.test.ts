import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { systemClock } from '../../../src/shared/base/clock.ts';
import { openRunLog } from '../../../src/cli/run-log.ts';
import { Redactor } from '../../../src/shared/base/redact.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-run-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

const name = (number: number) => `2020-01-01T${String(number).padStart(6, '0')}-1.log`;

test.each([
  ['number', 300, 10, 199],
  ['size', 20, 32 * 1024 * 1024, 8],
])('old logs are bounded in %s, the newest stay', (state, files, bytes, kept) => {
  const logs = join(folder, state, 'logs');
  mkdirSync(logs, { recursive: true });
  for (let number = 0; number < files; number += 1) {
    writeFileSync(join(logs, name(number)), '');
    truncateSync(join(logs, name(number)), bytes);
  }
  const log = openRunLog({ path: join(folder, state) }, systemClock(1), 1, new Redactor());
  log.close();
  const left = readdirSync(logs).sort();
  expect(left).toHaveLength(kept + 1);
  expect(left.slice(0, -1)).toEqual(Array.from({ length: kept }, (_, index) => name(files - kept + index)));
});
