// Commands on a real host, over ssh.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { systemClock } from '../../../../src/shared/base/clock.ts';
import { startOwnSshd, type OwnSshd } from '../../../support/own-sshd.ts';
import { runCommand } from '../../../support/command.ts';
import { leftOnScreen } from '../../../support/screen.ts';

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
  writeFileSync(
    join(sshd.folder, 'inventory.yaml'),
    `organization: https://dev.azure.com/example
token: { env: NONE }
defaults: { pool: gpu-lab, sshConfig: none }
hosts:
  h200-1: { address: 127.0.0.1, port: ${sshd.port}, user: ${sshd.user}, identityFile: ${sshd.clientKeyFile} }
`,
  );
});
afterAll(() => sshd.stop());

test('a command that exceeds its limit is reported, and the host does not count as unreachable', async () => {
  let drawn = '';
  const { exitCode, stdout, stderr } = await runCommand(
    ['exec', '--timeout', '1s', '--', 'echo half; exec sleep 30'],
    { cwd: sshd.folder, terminal: true, heard: (text) => void (drawn += text), clock: systemClock(1) },
  );
  expect(exitCode).toBe(1);
  expect(stdout).toBe(`✗ h200-1: the command was stopped after 1s [exec.timeout]
  expected  an exit within --timeout
  seen      half
  next      run it again with a longer --timeout
`);
  expect(drawn).toMatch(/h200-1 {2}(running|half) +0 s, at most 1 s/);
  expect(drawn).not.toMatch(/applying|unreachable|hung/);
  expect(leftOnScreen(stderr).join('')).not.toContain('unreachable');
});
