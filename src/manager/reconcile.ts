import { isUp } from '../shared/engine/engine.ts';
import type {
  Action,
  Observed,
  ObservedContainer,
  ObservedSlot,
  Slot,
  Stray,
  Desired,
  DesiredImage,
} from './model.ts';

/**
 * Returns the actions that turn the observed state into the desired one. Pure; at most one action per slot, so that the next
 * observation decides what follows. No action of this function ever ends a container that runs a job.
 */
export function reconcile(desired: Desired, seen: Observed): readonly Action[] {
  const trials = onTrial(desired, seen);
  const actions = desired.slots.flatMap((slot) => {
    const state = seen.slots.get(slot.name);
    const image = desired.images.get(slot.name);
    const rolling = image?.unproven === true && trials.has(image.source);
    return state === undefined ? [] : forSlot(slot, state, desired, seen.now, rolling);
  });
  return [...firstTrialOnly(actions, desired), ...seen.strays.flatMap((stray) => forStray(stray, seen.now))];
}

function forSlot(
  slot: Slot,
  state: ObservedSlot,
  desired: Desired,
  now: number,
  rolling: boolean,
): readonly Action[] {
  if (state.busyWith !== undefined || now < state.retryAt) return [];
  const leftover = state.containers
    .map((container) => cleanUp(slot.name, container))
    .find((action) => action);
  if (leftover !== undefined) return [leftover];
  const [container] = state.containers;
  if (container === undefined) return withoutContainer(slot, state, desired, now);
  if (!isUp(container)) return [];
  return withContainer(slot, container, state, desired, rolling);
}

/**
 * Removes containers that ended or never started. One that Docker is removing was removed by another user, or its removal
 * failed: its run is recorded, and a removal that hangs is tried again.
 */
function cleanUp(slot: string, container: ObservedContainer): Action | undefined {
  if (container.state === 'created') return { kind: 'discard', slot, container: container.id };
  const isRemoving = container.state === 'removing';
  if (container.state === 'exited' || container.state === 'dead' || (isRemoving && !container.isRecorded)) {
    return { kind: 'collect', slot, container: container.id };
  }
  if (isRemoving && container.stuck !== undefined) {
    return { kind: 'discard', slot, container: container.id, cause: container.stuck };
  }
  return undefined;
}

function withoutContainer(slot: Slot, state: ObservedSlot, desired: Desired, now: number): readonly Action[] {
  const disabling = state.hold?.kind === 'close' ? disableOnce(slot.name, state, state.hold.cause.what) : [];
  const isWaiting = state.hold !== undefined || imageOf(slot, desired) === undefined || now < state.notBefore;
  if (!isWaiting) return [{ kind: 'launch', slot: slot.name }];
  if (disabling.length > 0) return disabling;
  return state.keySpent ? [{ kind: 'end-key', slot: slot.name }] : [];
}

function withContainer(
  slot: Slot,
  container: ObservedContainer,
  state: ObservedSlot,
  desired: Desired,
  rolling: boolean,
): readonly Action[] {
  // Also with a hold: its job has ended, and a drain waits for it.
  if (hangs(container)) return endHanging(slot.name, container);
  const close = state.hold?.kind === 'close' ? state.hold.cause.what : undefined;
  if (close !== undefined) {
    const disabling = disableOnce(slot.name, state, close);
    return disabling.length > 0 ? disabling : retireIdle(slot.name, container, close);
  }
  const { stuck } = container;
  if (stuck !== undefined && state.hold === undefined)
    return retireIdle(slot.name, container, stuck.what).map((action) => ({ ...action, cause: stuck }));
  const outdated = outdatedBecause(slot, container, desired);
  if (outdated !== undefined && !rolling && state.hold === undefined) {
    return retireIdle(slot.name, container, outdated);
  }
  if (state.disabledFor !== undefined) return [{ kind: 'enable', slot: slot.name }];
  // A capability that only the next container has must not route a job to this one.
  const isCurrent = container.settings === desired.settings.get(slot.name);
  return isCurrent && state.unpublished && state.hold === undefined
    ? [{ kind: 'publish', slot: slot.name }]
    : [];
}

function outdatedBecause(slot: Slot, container: ObservedContainer, desired: Desired): string | undefined {
  const image = imageOf(slot, desired);
  if (image === undefined) return undefined;
  if (container.image !== image) return 'new image';
  return container.settings === desired.settings.get(slot.name) ? undefined : 'new settings';
}

/** Returns the image or program of a new run of the slot; undefined: it is not ready. */
export function imageOf(slot: Slot, desired: Desired): string | undefined {
  return slot.mode === 'host' ? desired.hostProgram : desired.images.get(slot.name)?.id;
}

function disableOnce(slot: string, state: ObservedSlot, reason: string): readonly Action[] {
  return state.disabledFor === reason ? [] : [{ kind: 'disable', slot, reason }];
}

/** Stops only an agent without a job; the effect checks this again with the server. */
function retireIdle(
  slot: string,
  container: ObservedContainer,
  reason: string,
): readonly Extract<Action, { kind: 'retire' }>[] {
  const idle = container.phase === 'listening' || container.phase === 'connecting';
  return idle ? [{ kind: 'retire', slot, container: container.id, reason }] : [];
}

/** Stops a container whose agent has finished its job and does not exit. */
function endHanging(
  slot: string,
  { id, stuck }: ObservedContainer,
): readonly Extract<Action, { kind: 'retire' }>[] {
  return stuck === undefined
    ? []
    : [{ kind: 'retire', slot, container: id, reason: stuck.what, cause: stuck }];
}

function hangs({ phase, stuck }: ObservedContainer): boolean {
  return phase === 'done' && stuck !== undefined;
}

function forStray(stray: Stray, now: number): readonly Action[] {
  if (stray.busyWith !== undefined || now < stray.retryAt) return [];
  const leftover = cleanUp(stray.slot, stray);
  if (leftover !== undefined) return [leftover];
  if (isUp(stray) && hangs(stray)) return endHanging(stray.slot, stray);
  return isUp(stray) ? retireIdle(stray.slot, stray, 'the slot is no longer configured') : [];
}

/**
 * Returns the sources whose image a slot tries now: the slot is changing, waits for a retry after a fault of its image, or
 * runs the image already. A slot that waits for something else tries nothing: a name that another owner has may stay for days.
 */
function onTrial(desired: Desired, seen: Observed): ReadonlySet<string> {
  return new Set(
    desired.slots.flatMap((slot) => {
      const state = seen.slots.get(slot.name);
      const image = desired.images.get(slot.name);
      return state !== undefined && image !== undefined && tries(state, image, seen.now)
        ? [image.source]
        : [];
    }),
  );
}

function tries(state: ObservedSlot, image: DesiredImage, now: number): boolean {
  if (state.busyWith !== undefined) return true;
  const [container] = state.containers;
  if (container === undefined)
    return state.hold === undefined && !(state.waitsElsewhere && now < state.notBefore);
  return container.image === image.id || !isUp(container);
}

/** Lets one slot try an image on which no agent has listened yet; the others follow once it listens. */
function firstTrialOnly(actions: readonly Action[], desired: Desired): readonly Action[] {
  const tried = new Set<string>();
  return actions.filter((action) => {
    const image = desired.images.get(action.slot);
    if (image?.unproven !== true || action.kind !== 'retire' || action.reason !== 'new image') return true;
    if (tried.has(image.source)) return false;
    tried.add(image.source);
    return true;
  });
}
