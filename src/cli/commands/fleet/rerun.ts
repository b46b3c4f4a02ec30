import { usageError } from '../../../shared/base/errors.ts';
import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import type { FleetPlan } from '../../../fleet/plan/fleet-plan.ts';
import { failedHosts } from '../../../fleet/apply/journal.ts';

/** The hosts that a provision is about: those selected, less what `--rerun failed` and `--plan FILE` leave out. */
export async function chooseHosts(
  selected: readonly HostSpec[],
  rerun: string | undefined,
  journal: string,
  saved: FleetPlan | undefined,
): Promise<readonly HostSpec[]> {
  if (rerun !== undefined && rerun !== 'failed')
    throw usageError({
      code: 'usage.rerun',
      what: '--rerun knows only one value',
      expected: 'failed',
      seen: rerun,
      next: 'write --rerun failed, or leave it out for all hosts',
    });
  const failed = rerun === undefined ? undefined : new Set(await failedHosts(journal));
  const planned = saved === undefined ? undefined : new Set(saved.hosts.map(({ host }) => host));
  const hosts = selected.filter(({ name }) => failed?.has(name) !== false && planned?.has(name) !== false);
  if (hosts.length > 0) return hosts;
  throw usageError({
    code: 'usage.no-hosts',
    what: rerun === undefined ? 'the plan concerns none of these hosts' : 'no host failed in the last run',
    next: 'run without this option',
  });
}
