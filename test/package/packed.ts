import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { requireCurrentBuild } from '../support/current-build.ts';
import { ranWell } from './run.ts';

const root = join(import.meta.dirname, '../..');

/** The archive that `npm pack` makes of what is built, in this folder. */
export async function packInto(folder: string): Promise<string> {
  requireCurrentBuild(root);
  mkdirSync(folder, { recursive: true });
  // Built already, and a lab run beside this may be using dist.
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const { stdout } = await ranWell('npm', args, { cwd: root, env: process.env });
  return join(folder, stdout.trim());
}
