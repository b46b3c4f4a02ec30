// history as a user types it, over ssh, with a running manager.
import { afterEach, beforeEach, expect, test } from 'vitest';

import { runCommand } from '../../../support/command.ts';
import type { ManagerRig } from '../../../support/manager-rig.ts';
import { servedEnv, serveHost, type ServedHost } from '../../../support/served-host.ts';

let served: ServedHost;
let rig: ManagerRig;
beforeEach(async () => {
  served = await serveHost();
  ({ rig } = served);
});
afterEach(() => served.close());

const azpFleet = (...argv: string[]) => runCommand(argv, { cwd: rig.directory, env: servedEnv });

test('shows who drained a host, and when it ended', async () => {
  await azpFleet('trust', '--yes');
  expect((await azpFleet('history')).stdout).toMatch(
    /^no events since \d{4}-\d\d-\d\d \d\d:\d\d UTC\n\nh200-1 since [^:]+:\d\d: 0 jobs, 0 failures\n$/,
  );
  await azpFleet('drain', 'h200-1/0', '--reason', 'fan');
  await azpFleet('undrain', 'h200-1/0');
  const { stdout, exitCode } = await azpFleet('history', 'h200-1');
  expect(exitCode).toBe(0);
  const [, who = ''] = /drain +(\S+@\S+)/.exec(stdout) ?? [];
  expect(stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME').replaceAll(/ +/g, ' ')).toBe(
    `time (UTC) kind who what
TIME drain ${who} slot 0 drained: fan
TIME drain ${who} slot 0: drain ended (${who}: fan)

h200-1 since TIME: 0 jobs, 0 failures
`,
  );
  const { hosts } = JSON.parse((await azpFleet('history', '--json')).stdout) as { hosts: unknown };
  expect(hosts).toMatchObject([{ host: 'h200-1', value: { events: [{ who }, { who }] } }]);
});

test('a time that is none is refused before any host is asked', async () => {
  const { exitCode, stderr } = await azpFleet('history', '--since', 'lately');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('--since is not a time');
});
