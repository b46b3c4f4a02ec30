import { defined } from '../shared/base/objects.ts';
import type { IdleScene, Taker } from './idle/watch.ts';
import type { ManagerTools } from './manager-tools.ts';
import type { Slot } from './model.ts';
import type { SlotBook } from './slots/memory.ts';
import { drainsOf } from './slots/drains.ts';
import type { Watches } from './watches.ts';
import type { TenantWatch } from './other-processes/watch.ts';

interface Runs {
  slots(): readonly Slot[];
  /** Nothing but the end of the machine keeps the slot from jobs for good. */
  takesJobs(slot: Slot): boolean;
  /** Agents that are not known to be without a job. */
  busy(): readonly { readonly agent: string; readonly job: string | undefined }[];
  /** No run is there. */
  isEmpty(): boolean;
  changed(): void;
}

/** What has to be known of a host before it may end. */
export function idleScene(
  { state }: Pick<ManagerTools, 'state'>,
  { images, pools }: Pick<Watches, 'images' | 'pools'>,
  book: SlotBook,
  tenants: Pick<TenantWatch, 'hold'>,
  runs: Runs,
): IdleScene {
  const taker = (slot: Slot): Taker => {
    const pool = pools.of(slot);
    const id = book.of(slot.name).agentId ?? pool.agent(slot.agent)?.id;
    return { agent: slot.agent, pool: slot.pool, poolId: pool.pool?.id, id };
  };
  return {
    own: () => ({
      busy: runs.busy().map(({ agent, job }) => ({ agent, ...defined({ job }) })),
      assigned: runs.slots().flatMap((slot) => {
        const request = pools.of(slot).agent(slot.agent)?.assignedRequest;
        return request === undefined ? [] : [{ agent: slot.agent, job: request.jobName ?? 'a job' }];
      }),
      drains: drainsOf(state.value.drain).filter(({ slot }) => slot === undefined),
      images: images.all.map((each) => each.state),
      isRenewing: images.asked?.state === 'running',
      tenants: runs.slots().flatMap(({ name }) => tenants.hold(name)?.cause ?? []),
    }),
    agents: () => runs.slots().map(taker),
    takers: () =>
      runs
        .slots()
        .filter((slot) => runs.takesJobs(slot))
        .map(taker),
    isEmpty: () => runs.isEmpty() && runs.slots().every(({ name }) => book.of(name).busyWith === undefined),
    changed: () => runs.changed(),
  };
}
