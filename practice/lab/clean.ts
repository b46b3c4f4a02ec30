import { existsSync, readFileSync, rmSync } from 'node:fs';

import { stopEngine } from './engine.ts';
import { deleteRules } from './firewall.ts';
import { withLock } from './lock.ts';
import { network, state } from './paths.ts';
import { leaveMachine } from './machine.ts';
import { run } from './run.ts';
import { say } from './say.ts';
import { stopServices } from './services.ts';

/** Puts the machine back: hosts, engine, services, bridge, firewall rules, Debian packages, the state folder. */
export async function cleanLab(): Promise<void> {
  if (!existsSync(state)) {
    say(`nothing to clean: ${state} does not exist`);
    return;
  }
  await withLock('prepare', () => withLock('engine', removeEverything));
}

async function removeEverything(): Promise<void> {
  say('stopping the mirror, the registry and the practice server');
  await stopServices();
  say('removing the hosts and stopping the lab engine');
  await stopEngine();
  say(`removing the bridge ${network.bridge} and the lab's firewall rules`);
  await run('ip', ['link', 'delete', network.bridge], { allowFailure: true });
  await deleteRules();
  // The engines inside the hosts leave their empty groups behind; those in use refuse to go.
  const groups =
    "find /sys/fs/cgroup -depth -mindepth 2 -type d -path '*/docker*' -exec rmdir {} + 2>/dev/null";
  await run('/bin/sh', ['-c', groups], { allowFailure: true });
  await leaveMachine();
  await unmountState();
  say(`deleting ${state}`);
  rmSync(state, { recursive: true, force: true });
}

/** dockerd mounts its folder on itself; one that was killed has left that mount behind. */
async function unmountState(): Promise<void> {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${state}/`));
  for (const point of points.toReversed()) await run('umount', [point], { allowFailure: true });
}
