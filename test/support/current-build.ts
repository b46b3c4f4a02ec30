import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Throws unless `dist` is newer than all its sources: a test of an old build proves nothing. It does not build, because a
 * lab run may be using `dist`.
 */
export function requireCurrentBuild(root: string): void {
  const changed = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = changed('dist/cli.mjs');
  // A folder changes when a file in it is removed.
  const sources = globSync(['src', 'src/**', 'scripts/build.mjs', 'package.json'], { cwd: root });
  const newer = sources.find((path) => changed(path) > built);
  if (built === 0) throw new Error('dist/cli.mjs is missing; next: npm run build');
  if (newer !== undefined) throw new Error(`dist/cli.mjs is older than ${newer}; next: npm run build`);
}
