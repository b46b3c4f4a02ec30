// The live picture of a large fleet, on a real terminal of the usual size.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';

import { requireCurrentBuild } from '../support/current-build.ts';
import { Terminal } from '../../practice/lab/terminal.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'azp-progress-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('300 hosts at work are never taller than 24 rows', async () => {
  requireCurrentBuild(root);
  // Takes connections and never says a word.
  const silent = createServer().listen(0, '0.0.0.0');
  await once(silent, 'listening');
  const address = silent.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const hosts = Array.from({ length: 300 }, (_, n) => {
    const place = `127.0.${1 + Math.floor(n / 200)}.${1 + (n % 200)}`;
    return `  gpu-${String(n).padStart(3, '0')}: { address: ${place}, port: ${port}, user: lab }`;
  });
  writeFileSync(
    join(folder, 'inventory.yaml'),
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab, sshConfig: none }
hosts:
${hosts.join('\n')}
`,
  );
  const command = `'${execPath}' '${root}/bin/azp-fleet.js' exec --parallel 64 -- true`;
  const terminal = new Terminal(command, { cwd: folder, env: { HOME: folder, XDG_STATE_HOME: folder } });
  try {
    const seen = /^0 of 300 done · \d+ waiting$/m;
    const [first, later] = [await terminal.see(seen), await terminal.see(/gpu-\d+ .*\b[2-9] s$/m)];
    for (const screen of [first, later]) {
      const lines = screen.split('\n');
      expect(lines.length).toBeLessThanOrEqual(24);
      expect(lines.at(-1)).toMatch(seen);
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
    }
    // Nothing was pushed off the top.
    expect(terminal.history().split('\n').length).toBeLessThanOrEqual(24);
  } finally {
    terminal.close();
    silent.close();
  }
});
