import type { HostPlan } from '../../../fleet/plan/fleet-plan.ts';
import { isEmpty } from '../../../fleet/plan/plan.ts';
import { withoutOwnName } from '../groups/own-name.ts';
import { type Change, reboots, type Shape } from '../../../fleet/steps/change.ts';

/** Hosts whose plans read the same. */
export interface Group {
  readonly hosts: readonly string[];
  /** Of several hosts each one's own name in it is `{host}`, unless texts or scripts are shown. */
  readonly plan: Pick<HostPlan, 'stages' | 'refusals'>;
}

/** What is shown beside the words. It is alike to the letter or not at all. */
interface Exactly {
  readonly scripts: boolean;
  readonly diff: boolean;
}

/**
 * The largest group first; hosts without changes are left out. Where only words are shown, `h200-1-3` on h200-1 and
 * `h200-2-3` on h200-2 read the same.
 */
export function groups(hosts: readonly HostPlan[], exactly: Exactly): Group[] {
  const busy = hosts.filter((host) => !isEmpty(host));
  const grouped = Map.groupBy(busy, (host) => JSON.stringify(read(host, exactly)));
  return [...grouped.values()]
    .map((same) => groupOf(same, exactly))
    .sort((left, right) => right.hosts.length - left.hosts.length);
}

function groupOf(same: readonly HostPlan[], { scripts, diff }: Exactly): Group {
  const [{ host, stages, refusals }] = same as [HostPlan, ...HostPlan[]];
  const plan = { stages, refusals };
  return {
    hosts: same.map((each) => each.host),
    plan: scripts || diff || same.length === 1 ? plan : withoutOwnName(host, plan),
  };
}

/** All that is to be read of a host. */
function read({ host, stages, refusals }: HostPlan, { scripts, diff }: Exactly): unknown {
  if (scripts) return [stages, refusals];
  const words = stages.map((stage) => stage.map((change) => wordsOf(change, diff)));
  return diff ? [words, refusals] : withoutOwnName(host, [words, refusals]);
}

function wordsOf(change: Change | Shape, diff: boolean): unknown {
  const { texts, ...rest } = change;
  const { id: _id, actions: _actions, ...words } = { id: undefined, actions: undefined, ...rest };
  return [words, reboots(change), diff ? texts : undefined];
}
