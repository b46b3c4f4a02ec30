import type { FakeRequest, State } from './state.ts';

/** Jobs that count against the permitted number: given to an agent of one's own, and not finished. */
export function runningJobs({ requests, pools }: State): readonly FakeRequest[] {
  const hosted = new Set(pools.filter(({ isHosted }) => isHosted).map(({ id }) => id));
  return requests.filter(
    ({ agentId, result, poolId }) => agentId !== undefined && result === undefined && !hosted.has(poolId),
  );
}

/** How many more may be given out now. */
export function permittedJobs(state: State): number {
  return state.parallelJobs === null ? Infinity : state.parallelJobs - runningJobs(state).length;
}
