import { flag, parameter } from '../http/arguments.ts';
import { ok, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { describeRequest } from '../shapes.ts';
import { activityOf } from '../world/activity.ts';
import type { Fake } from '../world/fake.ts';
import { runningJobs } from '../world/queue.ts';

/** The service's number for "no limit", as for self-hosted jobs of public projects. */
const unlimited = 2_147_483_647;

/** Jobs that may run at once; `private` self-hosted ones can be set here. */
function describeLimit(fake: Fake, parallelismTag: string, isHosted: boolean) {
  const own = !isHosted && parallelismTag === 'Private';
  const totalCount = isHosted ? 1 : own ? (fake.state.parallelJobs ?? unlimited) : unlimited;
  return {
    hostId: fake.state.collectionId,
    parallelismTag,
    isHosted,
    isPremium: false,
    totalCount,
    failedToReachAllProviders: false,
    resourceLimitsData: {
      FreeCount: String(Math.min(totalCount, 1)),
      PurchasedCount: String(Math.max(totalCount - 1, 0)),
    },
  };
}

const tagOf = (given: string | undefined) => (given?.toLowerCase() === 'public' ? 'Public' : 'Private');

function usage({ fake, query, baseUrl }: FakeCall): Reply {
  const parallelismTag = tagOf(parameter(query, 'parallelismTag'));
  const isHosted = flag(query, 'poolIsHosted');
  const running = isHosted || parallelismTag === 'Public' ? [] : runningJobs(fake.state);
  const activity = activityOf(fake.state);
  return ok({
    resourceLimit: describeLimit(fake, parallelismTag, isHosted),
    usedCount: running.length,
    ...(isHosted ? { usedMinutes: 0 } : {}),
    ...(flag(query, 'includeRunningRequests')
      ? { runningRequests: running.map((request) => describeRequest(fake, baseUrl, request, activity)) }
      : {}),
  });
}

export const resourceUsageRoutes: readonly Route[] = [
  [
    'GET',
    /^\/_apis\/distributedtask\/resourcelimits$/iu,
    ({ fake }) => {
      const limits = ['Private', 'Public'].flatMap((tag) =>
        [false, true].map((isHosted) => describeLimit(fake, tag, isHosted)),
      );
      return ok({ count: limits.length, value: limits });
    },
  ],
  ['GET', /^\/_apis\/distributedtask\/resourceusage$/iu, usage],
];
