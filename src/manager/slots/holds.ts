import type { Code } from '../../shared/base/codes/code.ts';
import { blocker } from '../../shared/health/checkup.ts';
import { drainedBy, drainEnd } from '../../shared/contract/drain.ts';
import type { HostCheck } from '../gpus/observe.ts';
import type { Cause, Hold, Slot } from '../model.ts';
import { type DrainEntries, drainOn } from './drains.ts';

/** The conditions that can stop a slot from taking jobs. */
export interface SlotConditions {
  /** Inventory name of the host. */
  readonly host: string;
  readonly drain: DrainEntries;
  /** Set while the unused machine is about to power off. */
  readonly idle: Hold | undefined;
  /** The manager is being stopped with its idle agents. */
  readonly leaving: boolean;
  /** Undefined: not checked yet. */
  readonly check: HostCheck | undefined;
  readonly isCheckOld: boolean;
  /** Set if network isolation is required and not confirmed for the slot. */
  readonly isolation: Cause | undefined;
  /** Set while other processes use the slot's GPUs. */
  readonly otherProcesses: Hold | undefined;
  /** Set if the finding of the slot's GPUs has changed too often, although the latest check found none. */
  readonly unsteady: Cause | undefined;
  /** Why the pool cannot be used. */
  readonly pool: Cause | undefined;
  /** Set if Docker's disk has too little space. */
  readonly disk: Cause | undefined;
}

/** Returns why this slot takes no jobs now: the first reason by priority. Pure. */
export function holdOf(slot: Slot, now: SlotConditions): Hold | undefined {
  if (now.leaving) return { kind: 'close', state: 'drained', cause: leaving };
  const drain = drainOn(now.drain, slot.name);
  if (drain !== undefined) {
    const cause: Cause = { code: 'drained', what: drainedBy(drain), next: drainEnd(drain, now.host) };
    return { kind: 'close', state: 'drained', cause };
  }
  if (now.idle !== undefined) return now.idle;
  if (now.isolation !== undefined) {
    // An agent from before a restart was started in isolation, so it is not stopped while the state is unknown.
    const kind = now.isolation.code === 'fence.unknown' ? 'pause' : 'close';
    return { kind, state: 'waiting', cause: now.isolation };
  }
  if (now.check === undefined)
    return pause('health.unknown', 'the GPUs have not been checked yet', 'wait a moment');
  const found = faultOf(slot, now.check) ?? now.unsteady;
  if (found !== undefined) return quarantine(found);
  if (now.otherProcesses !== undefined) return now.otherProcesses;
  const cause = now.pool ?? now.disk;
  if (cause !== undefined) return { kind: 'pause', state: 'waiting', cause };
  if (!now.isCheckOld || slot.gpus.length === 0) return undefined;
  return pause(
    'health.old',
    'the latest check of the GPUs is more than 30 s old',
    'wait for the next one; if this stays, check that nvidia-smi answers on the host within 10 s',
  );
}

/** Returns the finding that closes this slot. Pure. */
export function faultOf(slot: Pick<Slot, 'gpus' | 'missing'>, { checkup }: HostCheck): Cause | undefined {
  const finding = blocker(checkup, [...slot.gpus, ...slot.missing]);
  const [missing] = slot.missing;
  if (finding !== undefined || missing === undefined) return finding;
  return {
    code: 'gpu.missing',
    what: `${missing} is missing`,
    next: 'compare nvidia-smi -L on the host with the inventory',
  };
}

const leaving: Cause = {
  code: 'manager.leaving',
  what: 'the manager is being stopped',
  next: 'start it again',
};

function quarantine({ code, what, next }: Cause): Hold {
  return { kind: 'close', state: 'quarantined', cause: { code, what: `GPU: ${what}`, next } };
}

function pause(code: Code, what: string, next: string): Hold {
  return { kind: 'pause', state: 'waiting', cause: { code, what, next } };
}
