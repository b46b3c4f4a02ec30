import { foldNames } from '../../../fleet/inventory/fold-names.ts';
import type { FleetPlan, HostPlan } from '../../../fleet/plan/fleet-plan.ts';
import { count } from '../inventory.ts';

/** In a question: more would hide what is asked. */
const longest = 160;

/** What a plan changes, for a question: `Azure DevOps, gpu-[000-299]`. Hosts that are refused are left alone. */
export function changedPlaces({ fleet, hosts }: Pick<FleetPlan, 'fleet' | 'hosts'>): string {
  const changed = hosts.filter(({ stages }) => stages.length > 0);
  const places = [
    ...(fleet.length === 0 ? [] : ['Azure DevOps']),
    ...placesOf(changed.filter(({ refusals }) => refusals.length === 0)),
  ];
  return (places.length === 0 ? placesOf(changed) : places).join(', ');
}

function placesOf(hosts: readonly HostPlan[]): readonly string[] {
  if (hosts.length === 0) return [];
  const names = foldNames(hosts.map(({ host }) => host));
  return [names.length > longest ? count(hosts.length, 'host') : names];
}
