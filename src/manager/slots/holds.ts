import type { Code } from '../../shared/base/codes/code.ts';
import { blocker } from '../../shared/health/checkup.ts';
import { drainedBy, drainEnd } from '../../shared/contract/drain.ts';
import type { HostCheck } from '../gpus/observe.ts';
import type { Cause, Hold, Slot } from '../model.ts';
import { type DrainEntries, drainOn } from './drains.ts';

/** What may keep a slot from taking jobs. */
export interface Circumstances {
  readonly drain: DrainEntries;
  /** The machine is being ended because nobody uses it. */
  readonly idle: Hold | undefined;
  /** The manager is being stopped, and takes its idle agents along. */
  readonly leaving: boolean;
  /** Undefined: nobody has looked yet. */
  readonly look: HostCheck | undefined;
  readonly lookIsOld: boolean;
  /** Where it is required: why the fence cannot be said to stand around the slot. */
  readonly fence: Cause | undefined;
  /** Somebody or something is on the slot's GPUs. */
  readonly otherProcesses: Hold | undefined;
  /** Nothing is found now, but it has come and gone too often. */
  readonly unsteady: Cause | undefined;
  /** What is wrong between us and the pool. */
  readonly pool: Cause | undefined;
  /** Too little space on the disk of Docker. */
  readonly disk: Cause | undefined;
}

/** Why this slot takes no jobs now, the weightiest reason first. Pure. */
export function holdOf(slot: Slot, now: Circumstances): Hold | undefined {
  if (now.leaving) return { kind: 'close', state: 'drained', cause: leaving };
  const drain = drainOn(now.drain, slot.name);
  if (drain !== undefined) {
    const cause: Cause = { code: 'drained', what: drainedBy(drain), next: drainEnd(drain) };
    return { kind: 'close', state: 'drained', cause };
  }
  if (now.idle !== undefined) return now.idle;
  if (now.fence !== undefined) {
    // An agent from before a restart was started within it: not known is no reason to send it away.
    const kind = now.fence.code === 'fence.unknown' ? 'pause' : 'close';
    return { kind, state: 'waiting', cause: now.fence };
  }
  if (now.look === undefined) return pause('health.unknown', 'the GPUs are being looked at', 'wait a moment');
  const found = faultOf(slot, now.look) ?? now.unsteady;
  if (found !== undefined) return quarantine(found);
  if (now.otherProcesses !== undefined) return now.otherProcesses;
  const cause = now.pool ?? now.disk;
  if (cause !== undefined) return { kind: 'pause', state: 'waiting', cause };
  if (!now.lookIsOld || slot.gpus.length === 0) return undefined;
  return pause(
    'health.old',
    'the last look at the GPUs is more than 30 s old',
    'wait for the next one; if this stays, see whether nvidia-smi answers on the host within 10 s',
  );
}

/** What of a look closes this slot. Pure. */
export function faultOf(slot: Pick<Slot, 'gpus' | 'missing'>, { checkup }: HostCheck): Cause | undefined {
  const finding = blocker(checkup, [...slot.gpus, ...slot.missing]);
  const [missing] = slot.missing;
  if (finding !== undefined || missing === undefined) return finding;
  return {
    code: 'gpu.missing',
    what: `${missing} is not there`,
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
