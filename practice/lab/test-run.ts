import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { stopLab } from './clean.ts';
import { docker, ensureEngine } from './engine.ts';
import { isOfTestRun, removeLab, testRunVariable } from './lab.ts';
import { withSharedLock } from './machine.ts';
import { inState } from './paths.ts';
import { say } from './say.ts';

/**
 * Makes a second run on this machine wait for the first one, whatever its checkout and its AZP_FLEET_LAB_DIR: lab tests
 * need the machine for themselves. Removes the hosts of the run at its end, and those that a killed run left at its
 * beginning.
 */
export default async function oneRunAtATime(): Promise<() => Promise<void>> {
  if (process.env[testRunVariable] === String(process.pid)) return () => Promise.resolve();
  process.env[testRunVariable] = String(process.pid);
  const { promise: end, resolve: release } = Promise.withResolvers<void>();
  const { promise: begin, resolve: taken } = Promise.withResolvers<void>();
  const notice = setTimeout(() => say('waiting for another lab run on this machine to end'), 2000);
  const run = withSharedLock('lab-run', () => {
    taken();
    return end;
  });
  await Promise.race([begin, run]);
  clearTimeout(notice);
  await removeTestLabs();
  return async () => {
    await removeTestLabs();
    await stopUnusedEngine();
    release();
    await run;
  };
}

async function removeTestLabs(): Promise<void> {
  if (!existsSync(inState('labs'))) return;
  const left = readdirSync(inState('labs')).filter((prefix) => isOfTestRun(join(inState('labs'), prefix)));
  if (left.length === 0) return;
  await ensureEngine();
  for (const prefix of left) await removeLab(prefix);
}

/** Stops the engine and its services, unless it runs the hosts of a demo; images and packages stay for the next run. */
async function stopUnusedEngine(): Promise<void> {
  if (!existsSync(inState('docker.sock'))) return;
  const { stdout } = await docker(['ps', '-aq'], { allowFailure: true });
  if (stdout.trim() === '') await stopLab();
}
