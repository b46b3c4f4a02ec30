import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { practiceEnvironment } from './azure.ts';
import { sudoPassword } from './host.ts';
import { sudoPasswordVariable } from './inventory.ts';
import { repository } from './paths.ts';
import { type Output, run, type RunOptions } from './run.ts';

/** Returns the CLI's environment: its home is in the lab's folder, so that it reads and writes no file of a user. */
export function cliEnvironment(folder: string): Record<string, string> {
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return {
    HOME: home,
    XDG_STATE_HOME: join(home, 'state'),
    [sudoPasswordVariable]: sudoPassword,
    ...practiceEnvironment(folder),
    COLUMNS: '100',
    NO_COLOR: '1',
  };
}

/** The command under test: this checkout's, or another one, e.g. an installed package's. */
export const command = process.env['AZP_FLEET_CLI'] ?? join(repository, 'bin/azp-fleet.js');

/** Runs the built CLI (`npm run build`, as npm test does) as a user would. Any exit code is an answer. */
export function azpFleet(folder: string, args: readonly string[], options: RunOptions = {}): Promise<Output> {
  return run(process.execPath, [command, ...args], {
    allowFailure: true,
    timeoutMs: 1_800_000,
    cwd: folder,
    ...options,
    env: { ...cliEnvironment(folder), ...options.env },
  });
}
