import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { cliEnvironment } from '../../../practice/lab/azp-fleet.ts';
import { repository } from '../../../practice/lab/paths.ts';
import { type Output, run, type RunOptions } from '../../../practice/lab/run.ts';

/** The azp-fleet of a release, as its user runs it; rejects unless it exits 0 or a failure is allowed. */
export type Release = (args: readonly string[], options?: RunOptions) => Promise<Output>;

/**
 * A copy of the built package, which differs from others of its kind in the manager's last line. `first`: JavaScript
 * that its manager runs before anything else.
 */
export function release(folder: string, name: string, first = ''): Release {
  const target = join(folder, `release-${name}`);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  for (const part of ['bin', 'dist', 'units', 'dockeragent', 'package.json'])
    cpSync(join(repository, part), join(target, part), { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(target, 'node_modules'));
  const manager = join(target, 'dist/manager.mjs');
  writeFileSync(manager, `${first}\n${readFileSync(manager, 'utf8')}// ${name}\n`);
  return (args, options) =>
    run(process.execPath, [join(target, 'bin/azp-fleet.js'), ...args], {
      cwd: folder,
      env: cliEnvironment(folder),
      timeoutMs: 900_000,
      ...options,
    });
}
