import type { JobRequest } from '../../azure/client.ts';

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

  /**
   * The wait of a request that has not been seen before; requests have growing numbers. `isOurs`: its job was begun in
   * the life of this process; else an earlier one has counted it, and it is only remembered.
   */
  see(request: JobRequest | undefined, isOurs: boolean): QueueWait | undefined {
    const wait = queueWaitOf(request);
    if (wait === undefined || wait.requestId <= this.#newest) return undefined;
    this.#newest = wait.requestId;
    if (!isOurs) return undefined;
    this.#last = wait;
    return wait;
  }
}
