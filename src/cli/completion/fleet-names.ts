import { poolsOf, slotNames } from '../../shared/contract/slots.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { loadFleet, type LoadContext } from '../../fleet/inventory/load.ts';
import type { Offer } from './offer.ts';

/** What an inventory has names for. */
export interface FleetNames {
  readonly hosts: readonly Offer[];
  readonly groups: readonly Offer[];
  /** `room=b12` */
  readonly labels: readonly Offer[];
  /** `h200-1/0`, as far as they are known before GPUs have been counted. */
  readonly slots: readonly Offer[];
  readonly pools: readonly Offer[];
  readonly projects: readonly Offer[];
}

export const emptyNames: FleetNames = {
  hosts: [],
  groups: [],
  labels: [],
  slots: [],
  pools: [],
  projects: [],
};

/** Those of this file; of one that is not there, or has a mistake, none: other commands say so. */
export function namesIn(file: string, context: LoadContext): FleetNames {
  try {
    return namesOf(loadFleet(file, context));
  } catch (error) {
    if (error instanceof FleetError) return emptyNames;
    throw error;
  }
}

export function namesOf({ hosts, projects }: Pick<Fleet, 'hosts' | 'projects'>): FleetNames {
  const distinct = (values: readonly string[], about: string) =>
    [...new Set(values)].map((value) => ({ value, about }));
  return {
    hosts: hosts.map(({ name, pool, groups }) => ({
      value: name,
      about: ['host', ...groups, pool].join(' · '),
    })),
    groups: distinct(
      hosts.flatMap(({ groups }) => groups),
      'group',
    ),
    labels: distinct(
      hosts.flatMap(({ labels }) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
      'label',
    ),
    slots: hosts.flatMap((host) =>
      distinct(
        slotNames(host).map((slot) => `${host.name}/${slot}`),
        'slot',
      ),
    ),
    pools: distinct(hosts.flatMap(poolsOf), 'pool'),
    projects: distinct(projects, 'project'),
  };
}
