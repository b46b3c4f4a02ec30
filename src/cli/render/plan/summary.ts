import type { FleetPlan } from '../../../fleet/plan/fleet-plan.ts';
import { hasChanges, isEmpty } from '../../../fleet/plan/plan.ts';
import { reboots } from '../../../fleet/steps/change.ts';

/** What the plan says nothing about, because it could not be read. */
export interface Unread {
  readonly hosts: number;
  readonly pools: readonly string[];
}

/** The last line: `Changes: 6 on 3 hosts, 1 host refused.` */
export function summary(plan: FleetPlan, { hosts, pools }: Unread = { hosts: 0, pools: [] }): string {
  const changed = plan.hosts.filter(({ stages }) => stages.length > 0);
  const changes = changed.reduce((sum, { stages }) => sum + stages.flat().length, 0);
  const rebooted = changed.filter(({ stages }) => stages.flat().some(reboots));
  const refused = plan.hosts.filter(({ refusals }) => refusals.length > 0);
  const well = plan.hosts.filter(isEmpty);
  const parts = [
    ...(plan.fleet.length === 0 ? [] : [`${plan.fleet.length} in Azure DevOps`]),
    ...(changed.length === 0 ? [] : [`${changes} on ${hostCount(changed.length)}`]),
    ...(rebooted.length === 0 ? [] : [`${hostCount(rebooted.length)} to be rebooted`]),
    ...(refused.length === 0 ? [] : [`${hostCount(refused.length)} refused`]),
    ...(well.length === 0 ? [] : [`${hostCount(well.length)} as wanted`]),
  ];
  const unread = [
    ...(hosts === 0 ? [] : [`${hostCount(hosts)} could not be read`]),
    ...(pools.length === 0
      ? []
      : [`the ${pools.length === 1 ? 'pool' : 'pools'} ${pools.join(', ')} could not be read`]),
  ];
  const all = [...parts, ...unread].join(', ');
  if (hasChanges(plan)) return `Changes: ${all}.`;
  if (parts.length === 0 && unread.length > 0) return `Nothing is known: ${all}.`;
  return `No changes${all === '' ? '' : `: ${all}`}.`;
}

function hostCount(count: number): string {
  return `${count} ${count === 1 ? 'host' : 'hosts'}`;
}
