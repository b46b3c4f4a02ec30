import type { JobRequest } from '../../shared/azure/client.ts';

/** No agent has the job yet. Pure. */
export function isWaiting({ result, assignTime, receiveTime, reservedAgent }: JobRequest): boolean {
  return [result, assignTime, receiveTime, reservedAgent].every(
    (known) => (known ?? undefined) === undefined,
  );
}
