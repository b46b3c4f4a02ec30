import type {
  Action,
  Hold,
  ObservedContainer,
  ObservedSlot,
  Slot,
  Desired,
} from '../../../src/manager/model.ts';
import { reconcile } from '../../../src/manager/reconcile.ts';
import { plainSlot } from '../../support/slot.ts';

export const slot = (name: string): Slot => ({ ...plainSlot, name, agent: `box-${name}` });

interface DesiredChanges extends Partial<Omit<Desired, 'images'>> {
  /** Of all slots. */
  readonly image?: string | undefined;
  readonly imageUnproven?: boolean;
}

export function desired(changes: DesiredChanges = {}): Desired {
  const {
    image: id,
    imageUnproven: unproven,
    slots,
    ...rest
  } = {
    slots: [slot('0')],
    image: 'new',
    imageUnproven: false,
    ...changes,
  };
  return {
    slots,
    images: new Map(slots.map(({ name }) => [name, { id, source: 'agent', unproven }])),
    hostProgram: 'agent',
    settings: new Map([['0', 's']]),
    ...rest,
  };
}

export const container = (changes: Partial<ObservedContainer> = {}): ObservedContainer => ({
  id: 'c',
  state: 'running',
  image: 'new',
  settings: 's',
  phase: 'listening',
  isRecorded: false,
  stuck: undefined,
  ...changes,
});

export const state = (changes: Partial<ObservedSlot> = {}): ObservedSlot => ({
  containers: [],
  busyWith: undefined,
  retryAt: 0,
  notBefore: 0,
  hold: undefined,
  disabledFor: undefined,
  unpublished: false,
  keySpent: false,
  waitsElsewhere: false,
  ...changes,
});

export const cause = { code: 'drained', what: 'drained', next: '' } as const;
export const stuck = container({ phase: 'connecting', stuck: cause });
export const hanging = container({ phase: 'done', stuck: cause });
export const close: Hold = { kind: 'close', state: 'drained', cause };
export const pause: Hold = { kind: 'pause', state: 'waiting', cause };
export const one = (seen: ObservedSlot, desiredState: Desired = desired()): readonly Action[] =>
  reconcile(desiredState, { now: 1000, slots: new Map([['0', seen]]), strays: [] });
