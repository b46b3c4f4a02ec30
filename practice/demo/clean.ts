import { rmSync } from 'node:fs';

import { cleanLab } from '../lab/clean.ts';
import { folder } from './fleet.ts';
import { reportSteps } from './progress.ts';

export async function cleanDemo(): Promise<void> {
  reportSteps();
  await cleanLab();
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write('\nDone. node_modules/ and dist/ of this checkout are yours to keep or delete.\n');
}
