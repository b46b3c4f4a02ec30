import { globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ran, ranWell, type Ran } from './run.ts';

/**
 * npx in this place. What it keeps of packages below `folder` is forgotten again: it would lie in the cache of whoever
 * runs the tests for ever.
 */
export async function npx(
  folder: string,
  args: readonly string[],
  where: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Ran> {
  try {
    return await ran('npx', args, where);
  } finally {
    const { stdout } = await ranWell('npm', ['config', 'get', 'cache'], where);
    const kept = join(stdout.trim(), '_npx');
    for (const manifest of globSync('*/package.json', { cwd: kept }))
      if (readFileSync(join(kept, manifest), 'utf8').includes(folder))
        rmSync(dirname(join(kept, manifest)), { recursive: true });
  }
}
