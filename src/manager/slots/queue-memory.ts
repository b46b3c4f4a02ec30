import type { JobRequest } from '../../shared/azure/client.ts';

/** Longer than any job waits: the server gives one up long before. */
const longestS = 366 * 86_400;

/** How long the job of a request waited for an agent. */
export interface QueueWait {
  readonly requestId: number;
  /** Seconds. */
  readonly waitedS: number;
}

/**
 * From the job's arrival in the pool's queue until an agent had it; both times are the server's, so that no clock of ours
 * plays a part. Undefined where the server does not tell, or tells what cannot be. Pure.
 */
export function queueWaitOf(request: JobRequest | undefined): QueueWait | undefined {
  if (request === undefined || !Number.isSafeInteger(request.requestId)) return undefined;
  const { requestId, queueTime = '', receiveTime, assignTime = '' } = request;
  const waitedS = (Date.parse(receiveTime ?? assignTime) - Date.parse(queueTime)) / 1000;
  return waitedS >= 0 && waitedS <= longestS ? { requestId, waitedS } : undefined;
}

/** Which requests of a slot's agent have been counted: each once, whichever look shows it first. */
export class QueueMemory {
  #last: QueueWait | undefined;
  #newest = Number.NEGATIVE_INFINITY;

  /** Of the job that the slot took last; undefined: not seen by this process. */
  get last(): QueueWait | undefined {
    return this.#last;
  }

  /** Undefined unless it is newer than what has been seen, and than `counted`: requests have growing numbers. */
  see(request: JobRequest | undefined, counted = Number.NEGATIVE_INFINITY): QueueWait | undefined {
    const wait = queueWaitOf(request);
    if (wait === undefined || wait.requestId <= Math.max(this.#newest, counted)) return undefined;
    this.#newest = wait.requestId;
    this.#last = wait;
    return wait;
  }
}

interface Books {
  readonly metrics: { queued(pool: string, waitedS: number): void };
  /** `counted`: by slot, the newest request. */
  readonly state: {
    readonly value: { readonly counted: Readonly<Record<string, number>> };
    note(
      change: (state: { readonly counted: Readonly<Record<string, number>> }) => {
        readonly counted: Readonly<Record<string, number>>;
      },
    ): Promise<void>;
  };
}

/** Counts how long a job waited that the slot took, unless that was done before, by an earlier process perhaps. */
export async function countWait(
  { metrics, state }: Books,
  slot: { readonly name: string; readonly pool: string },
  queue: QueueMemory,
  request: JobRequest | undefined,
): Promise<void> {
  const wait = queue.see(request, state.value.counted[slot.name]);
  if (wait === undefined) return;
  metrics.queued(slot.pool, wait.waitedS);
  await state.note(({ counted }) => ({ counted: { ...counted, [slot.name]: wait.requestId } }));
}
