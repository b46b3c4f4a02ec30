import { usageError } from '../../base/errors.ts';
import { systems, type Distribution } from '../../packages/systems.ts';
import type { Machine } from '../../packages/system.ts';

export interface NamedSystem {
  readonly system: Distribution;
  readonly machine: Machine;
}

const machines: readonly Machine[] = ['x86_64', 'aarch64'];

/** `debian-12/x86_64`, `ubuntu-24.04`; without a machine it is x86_64. */
export function namedSystem(text: string): NamedSystem {
  const [name = '', machine = 'x86_64', ...more] = text.split('/');
  const system = systems.find(({ id, versionId }) => `${id}-${versionId}` === name);
  const known = machines.find((each) => each === machine);
  if (system !== undefined && known !== undefined && more.length === 0) return { system, machine: known };
  const names = systems
    .filter(({ packages }) => packages.offline !== undefined)
    .map(({ id, versionId }) => `${id}-${versionId}`);
  throw usageError({
    code: 'usage.option',
    what: '--for names no system that azp-fleet knows',
    expected: `one of ${names.join(', ')}, with /${machines.join(' or /')}`,
    seen: text,
  });
}
