import type { Facts } from '../../facts/facts.ts';
import { sh } from '../../base/shell.ts';
import type { Platform } from '../../packages/distribution.ts';
import { packageChange, type PackageChange } from '../packages/package-change.ts';
import type { Desired } from '../step.ts';
import { engineFunctions, startEngine } from './engine-script.ts';

/** The system's own engine, in the version that its own source has, and not held there. Nothing where some engine is installed. */
export function ownEngine(
  platform: Platform,
  { packages, os }: Facts,
  { proxy }: Pick<Desired, 'proxy'>,
): PackageChange | undefined {
  const { own } = platform.names.engine;
  if (packages[own] !== undefined || packages['docker-ce'] !== undefined) return undefined;
  return packageChange({
    step: 'docker',
    name: 'install',
    platform,
    subject: { what: 'Docker Engine', from: undefined, to: undefined, note: " (the system's own)" },
    why: `Docker has no packages for ${os.pretty}, and its own engine is not installed`,
    disturbs: 'nothing',
    timeoutS: 3600,
    transaction: {
      packages: [],
      remove: [],
      mayRemove: [],
      proxy,
      before: sh`bring ${own}`,
      after: `${engineFunctions}\n${startEngine}`,
    },
  });
}
