import { defined } from '../shared/base/defined.ts';
import type { Pool } from '../shared/azure/client.ts';
import { Labels } from '../shared/contract/paths.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import type { Action, Cause, Slot, Wanted } from './model.ts';
import { imageOf } from './reconcile.ts';

/** An action with everything that carrying it out needs. */
export type Order =
  | { readonly kind: 'launch'; readonly slot: Slot; readonly image: string; readonly pool: Pool }
  | {
      readonly kind: 'collect';
      readonly container: OwnContainer;
      /** Of the pool that its agent is in; undefined: not known, and then its key cannot be ended. */
      readonly poolId: number | undefined;
    }
  | { readonly kind: 'discard'; readonly container: OwnContainer }
  | {
      readonly kind: 'retire';
      readonly container: OwnContainer;
      readonly reason: string;
      readonly cause?: Cause;
      /** Of the pool that the container's agent is in; its slot may have left it. */
      readonly poolId: number;
    }
  | { readonly kind: 'disable'; readonly slot: Slot; readonly reason: string; readonly pool: Pool }
  | { readonly kind: 'enable'; readonly slot: Slot; readonly pool: Pool }
  | { readonly kind: 'end-key'; readonly slot: Slot; readonly pool: Pool }
  | { readonly kind: 'publish'; readonly slot: Slot; readonly pool: Pool };

/** What there is to carry actions out with. */
export interface Grounds {
  readonly wanted: Wanted;
  readonly containers: readonly OwnContainer[];
  /** By name; undefined: not found yet. */
  readonly pool: (name: string) => Pool | undefined;
}

/** Either the order, or what it lacks: then nothing is done, and asked again later. */
export type Decision = { readonly order: Order } | { readonly lacks: Cause };

/** The order that an action becomes, or why it cannot become one now. Pure. */
export function decide(action: Action, { wanted, containers, pool }: Grounds): Decision {
  switch (action.kind) {
    case 'launch': {
      const slot = slotOf(action, wanted);
      if (slot === undefined) return { lacks: slotGone };
      const image = imageOf(slot, wanted);
      if (image === undefined) return { lacks: imageNotReady };
      const found = pool(slot.pool);
      return found === undefined
        ? { lacks: poolUnknown }
        : { order: { kind: action.kind, slot, image, pool: found } };
    }
    case 'collect': {
      const container = containerOf(action, containers);
      if (container === undefined) return { lacks: containerGone };
      return {
        order: { kind: action.kind, container, poolId: agentsPool(container, slotOf(action, wanted), pool) },
      };
    }
    case 'discard': {
      const container = containerOf(action, containers);
      return container === undefined ? { lacks: containerGone } : { order: { kind: action.kind, container } };
    }
    case 'retire': {
      const { kind, reason, cause } = action;
      const container = containerOf(action, containers);
      if (container === undefined) return { lacks: containerGone };
      const poolId = agentsPool(container, slotOf(action, wanted), pool);
      // Without the server's word no agent is disabled, and so none is stopped.
      if (poolId === undefined) return { lacks: poolUnknown };
      return { order: { kind, container, reason, poolId, ...defined({ cause }) } };
    }
    case 'disable': {
      const { kind, reason } = action;
      const slot = slotOf(action, wanted);
      if (slot === undefined) return { lacks: slotGone };
      const found = pool(slot.pool);
      return found === undefined ? { lacks: poolUnknown } : { order: { kind, slot, reason, pool: found } };
    }
    case 'enable':
    case 'end-key':
    case 'publish': {
      const slot = slotOf(action, wanted);
      if (slot === undefined) return { lacks: slotGone };
      const found = pool(slot.pool);
      return found === undefined
        ? { lacks: poolUnknown }
        : { order: { kind: action.kind, slot, pool: found } };
    }
    default:
      throw new Error(`no order for ${JSON.stringify(action satisfies never)}`);
  }
}

function slotOf({ slot }: Action, { slots }: Wanted): Slot | undefined {
  return slots.find(({ name }) => name === slot);
}

function containerOf(
  { container }: { readonly container: string },
  containers: readonly OwnContainer[],
): OwnContainer | undefined {
  return containers.find(({ id }) => id === container);
}

/** Containers of an earlier version do not tell their pool: they are in their slot's. */
function agentsPool(
  container: OwnContainer,
  slot: Slot | undefined,
  pool: Grounds['pool'],
): number | undefined {
  return poolIdOf(container) ?? pool(slot?.pool ?? '')?.id;
}

/** Of the pool that an agent was registered in when its container was made. */
export function poolIdOf({ labels }: OwnContainer): number | undefined {
  const id = Number(labels[Labels.poolId]);
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

const poolUnknown: Cause = {
  code: 'pool.unknown',
  what: 'the pool has not been found yet',
  next: 'look at the problem that the status shows for the pool',
};

const imageNotReady: Cause = {
  code: 'image.not-ready',
  what: 'the agent image is not ready yet',
  next: 'wait for it; the status shows how far it is',
};

const containerGone: Cause = {
  code: 'container.gone',
  what: 'the container has gone meanwhile',
  next: 'wait until the containers have been looked at again',
};

const slotGone: Cause = {
  code: 'slot.gone',
  what: 'the slot is no longer configured',
  next: 'wait until the slots have been looked at again',
};
