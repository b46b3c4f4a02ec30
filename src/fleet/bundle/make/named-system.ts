import { usageError } from '../../../shared/base/errors.ts';
import { systemOf } from '../../packages/distribution.ts';
import { type Distribution, systems } from '../../packages/systems.ts';
import type { Machine } from '../../packages/vendors.ts';

export interface NamedSystem {
  /** `versionId` as it was named: `9.5`. */
  readonly system: Distribution;
  readonly machine: Machine;
}

const machines: readonly Machine[] = ['x86_64', 'aarch64'];

/** `debian-12/x86_64`, `ubuntu-24.04`, `rocky-9.5` (one of 9); without a machine it is x86_64. */
export function namedSystem(text: string): NamedSystem {
  const [name = '', machine = 'x86_64', ...more] = text.split('/');
  const [, id = '', versionId = ''] = /^([a-z]+)-(\d+(?:\.\d+){0,2})$/.exec(name) ?? [];
  const system = systemOf({ id, versionId });
  const known = machines.find((each) => each === machine);
  if (system !== undefined && known !== undefined && more.length === 0)
    return { system: { ...system, versionId }, machine: known };
  const names = systems.map((each) => `${each.id}-${each.versionId}`);
  throw usageError({
    code: 'usage.option',
    what: '--for names no system that azp-fleet knows',
    expected: `one of ${names.join(', ')}, with /${machines.join(' or /')}`,
    seen: text,
  });
}
