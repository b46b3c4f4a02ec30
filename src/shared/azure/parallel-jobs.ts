import { FleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { isObject } from '../base/objects.ts';
import type { AzureClient, ParallelJobs } from './client.ts';

/** The service reports "no limit" as the largest 32-bit number. */
const unlimited = 2_147_483_647;

/** Returns the limit that an answer contains; undefined without a number. Pure. */
export function readUsage(answer: unknown): ParallelJobs | undefined {
  return isObject(answer) ? jobsOf(answer['resourceLimit'], answer['usedCount']) : undefined;
}

/** Returns the limit from the list of all limits, which does not contain the running jobs. Pure. */
export function readLimits(answer: unknown): ParallelJobs | undefined {
  const limits = isObject(answer) && Array.isArray(answer['value']) ? answer['value'] : [];
  const own = limits.find(
    (limit: unknown) =>
      isObject(limit) &&
      String(limit['parallelismTag']).toLowerCase() === 'private' &&
      limit['isHosted'] === false,
  );
  return jobsOf(own, undefined);
}

function jobsOf(limit: unknown, used: unknown): ParallelJobs | undefined {
  const totalCount = isObject(limit) ? limit['totalCount'] : undefined;
  if (!isCount(totalCount)) return undefined;
  return {
    permitted: totalCount >= unlimited ? undefined : totalCount,
    used: isCount(used) ? used : undefined,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Reads the limit; undefined when the token may not read it or the server lacks the call. Nothing else depends on it. */
export async function readParallelJobs(
  client: Pick<AzureClient, 'parallelJobs'>,
  log: Logger,
): Promise<ParallelJobs | undefined> {
  try {
    return await client.parallelJobs();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    log.log('debug', 'parallel jobs', { ...error.problem });
    return undefined;
  }
}
