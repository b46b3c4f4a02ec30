import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { practiceEnvironment } from '../lab/azure.ts';
import { repository } from '../lab/paths.ts';
import { folder } from './fleet.ts';
import { command } from './progress.ts';

/** What the CLI downloads and logs goes with the demo, not into the user's home. */
const ownFolders = { XDG_CACHE_HOME: join(folder, '.cache'), XDG_STATE_HOME: join(folder, '.state') };

/** Runs the real CLI as a user would, on this terminal; returns its exit code and, where wanted, what it printed. */
export async function azpFleet(
  args: readonly string[],
  { capture = false }: { readonly capture?: boolean } = {},
): Promise<{ readonly code: number; readonly output: string }> {
  command(`npx azp-fleet ${args.join(' ')}`);
  const child = spawn(process.execPath, [join(repository, 'bin/azp-fleet.js'), ...args], {
    cwd: repository,
    stdio: ['inherit', capture ? 'pipe' : 'inherit', 'inherit'],
    env: {
      ...process.env,
      ...ownFolders,
      ...practiceEnvironment(folder),
      ...(capture && process.stdout.isTTY && { FORCE_COLOR: '1' }),
    },
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.on('error', reject).on('close', (code) => resolve(code ?? 130));
  return { code: await promise, output };
}
