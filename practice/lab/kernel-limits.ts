import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { inState } from './paths.ts';

const instances = '/proc/sys/fs/inotify/max_user_instances';
const before = inState('max_user_instances.before');

/** Each systemd takes about ten; the kernel's 128 for all of root's are used up by a dozen hosts, which then do not boot. */
const needed = 2048;

/** Raises what many systemds at once need, and remembers what it was. */
export function raiseKernelLimits(): void {
  const now = readFileSync(instances, 'utf8').trim();
  if (Number(now) >= needed) return;
  writeFileSync(before, now);
  writeFileSync(instances, String(needed));
}

export function restoreKernelLimits(): void {
  if (existsSync(before)) writeFileSync(instances, readFileSync(before, 'utf8'));
}
