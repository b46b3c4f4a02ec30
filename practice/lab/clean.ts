import { existsSync, readFileSync, rmSync } from 'node:fs';

import { stopEngine } from './engine.ts';
import { deleteRules } from './firewall.ts';
import { withLock } from './lock.ts';
import { network, state } from './paths.ts';
import { leaveMachine, withSharedLock } from './machine.ts';
import { run } from './run.ts';
import { say } from './say.ts';
import { stopServices } from './services.ts';

/**
 * Undoes all changes to the machine: hosts, engine, services, bridge, firewall rules, Debian packages, the state folder. Waits for
 * lab tests that run, which need them.
 */
export async function cleanLab(): Promise<void> {
  if (!existsSync(state)) {
    say(`nothing to clean: ${state} does not exist`);
    return;
  }
  const notice = setTimeout(() => say('waiting for a lab run on this machine to end'), 2000);
  await withSharedLock('lab-run', () => {
    clearTimeout(notice);
    return withLock('prepare', () => withLock('engine', removeEverything));
  });
}

async function removeEverything(): Promise<void> {
  say('stopping the hosts, the engine, the mirror, the registry and the practice servers');
  await stopLab();
  await leaveMachine();
  await unmountState();
  say(`deleting ${state}`);
  rmSync(state, { recursive: true, force: true });
}

/** Stops every process of the lab, and removes its bridge and its firewall rules; images and packages stay. */
export async function stopLab(): Promise<void> {
  await stopServices();
  await stopEngine();
  await run('ip', ['link', 'delete', network.bridge], { allowFailure: true });
  await deleteRules();
  // The engines inside the hosts leave empty groups behind; rmdir fails for groups in use.
  const groups =
    "find /sys/fs/cgroup -depth -mindepth 2 -type d -path '*/docker*' -exec rmdir {} + 2>/dev/null";
  await run('/bin/sh', ['-c', groups], { allowFailure: true });
}

/** dockerd mounts its folder on itself; one that was killed has left that mount behind. */
async function unmountState(): Promise<void> {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${state}/`));
  for (const point of points.toReversed()) await run('umount', [point], { allowFailure: true });
}
