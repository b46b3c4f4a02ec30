import { FleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { AzureClient, ParallelJobs } from './client.ts';

/** What is said of a limit where there is none: the largest number of 32 bits. */
const unlimited = 2_147_483_647;

interface ResourceLimit {
  readonly parallelismTag?: string | null;
  readonly isHosted?: boolean | null;
  readonly totalCount?: number | null;
}

interface ResourceUsage {
  readonly resourceLimit?: ResourceLimit | null;
  readonly usedCount?: number | null;
}

/** Undefined where the answer holds no number. Pure. */
export function readUsage(answer: unknown): ParallelJobs | undefined {
  const { resourceLimit, usedCount } = Object(answer) as ResourceUsage;
  return jobsOf(resourceLimit ?? {}, usedCount);
}

/** The same from the list of all limits, which does not say how many run. Pure. */
export function readLimits(answer: unknown): ParallelJobs | undefined {
  const { value } = Object(answer) as { readonly value?: unknown };
  const limits = Array.isArray(value) ? value.map((limit) => Object(limit) as ResourceLimit) : [];
  const own = limits.find(
    ({ parallelismTag, isHosted }) => /^private$/i.test(String(parallelismTag)) && isHosted === false,
  );
  return own && jobsOf(own, undefined);
}

function jobsOf({ totalCount }: ResourceLimit, used: unknown): ParallelJobs | undefined {
  if (!isCount(totalCount)) return undefined;
  return {
    permitted: totalCount >= unlimited ? undefined : totalCount,
    used: isCount(used) ? used : undefined,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Undefined where the credential may not read it, or the server does not know it: nothing else rests on it. */
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
