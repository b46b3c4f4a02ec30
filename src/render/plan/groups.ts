import type { HostPlan } from '../../plan/fleet-plan.ts';
import { isEmpty } from '../../plan/plan.ts';
import { withoutOwnName } from '../groups/own-name.ts';

/** Hosts whose plans read the same. */
export interface Group {
  readonly hosts: readonly string[];
  /** Of several hosts each one's own name in it is `{host}`, unless `exact` was asked for. */
  readonly plan: Pick<HostPlan, 'stages' | 'refusals'>;
}

/**
 * The largest group first; hosts without changes are left out. `exact`: scripts are shown, which are alike to the letter
 * or not at all; otherwise `h200-1-3` on h200-1 and `h200-2-3` on h200-2 read the same.
 */
export function groups(hosts: readonly HostPlan[], exact: boolean): Group[] {
  const busy = hosts.filter((host) => !isEmpty(host));
  const grouped = Map.groupBy(busy, (host) => JSON.stringify(exact ? shown(host) : read(host)));
  return [...grouped.values()]
    .map((same) => groupOf(same, exact))
    .sort((left, right) => right.hosts.length - left.hosts.length);
}

function groupOf(same: readonly HostPlan[], exact: boolean): Group {
  const [first] = same as [HostPlan, ...HostPlan[]];
  return {
    hosts: same.map(({ host }) => host),
    plan: exact || same.length === 1 ? shown(first) : withoutOwnName(first.host, shown(first)),
  };
}

function shown({ stages, refusals }: HostPlan): Group['plan'] {
  return { stages, refusals };
}

/** What is to be read where no scripts are shown. */
function read(host: HostPlan): unknown {
  const { stages, refusals } = withoutOwnName(host.host, shown(host));
  return [
    stages.map((stage) =>
      stage.map((change) => {
        if (!change.known) return change;
        const { id: _id, actions, ...words } = change;
        return [words, actions.some(({ kind }) => kind === 'reboot')];
      }),
    ),
    refusals,
  ];
}
