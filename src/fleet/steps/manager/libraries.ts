import type { Facts } from '../../facts/facts.ts';
import { platformOf } from '../../packages/distribution.ts';
import { missingLibraries } from '../../packages/names.ts';
import { packageChange, type PackageChange } from '../packages/package-change.ts';
import type { Desired } from '../step.ts';

/**
 * What agents load that run on the host itself: in a container the image has it. Security upgrades of it go on as before,
 * nothing is held. On other systems the manager says what is missing.
 */
export function* libraries(facts: Facts, { host, proxy }: Desired): Iterable<PackageChange> {
  const { agents } = host;
  const platform = platformOf(facts);
  if (platform === undefined || agents.kind !== 'slots') return;
  if (agents.slots.every(({ mode }) => mode === 'container')) return;
  const { missing, script } = missingLibraries(platform.names.agentLibraries, facts.packages);
  if (missing.length === 0) return;
  yield packageChange({
    step: 'manager',
    name: 'libraries',
    platform,
    subject: { what: missing.join(', '), from: undefined, to: undefined, note: ' for agents on the host' },
    why: 'the agent cannot run outside a container without',
    disturbs: 'nothing',
    timeoutS: 1800,
    transaction: { packages: [], remove: [], mayRemove: [], proxy, before: script },
  });
}
