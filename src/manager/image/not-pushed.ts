import { FleetError } from '../../shared/base/errors.ts';
import type { ImagePlan } from '../../shared/image/plan.ts';

/** Milliseconds that another host may take to build and push an image before that is a failure. */
const patienceMs = 30 * 60_000;

/** The image comes from another host, which has not pushed it yet: nothing is wrong so far. */
export class NotPushedYet extends Error {}

/** What to throw for a pull that failed: registries say in either way that there is nothing of this name yet. */
export function pullFailure(error: unknown, plan: ImagePlan, waitedMs: number): unknown {
  if (plan.kind !== 'pull' || plan.builtBy === undefined || !(error instanceof FleetError)) return error;
  const { code, seen } = error.problem;
  if (code !== 'registry.not-found' && code !== 'registry.denied') return error;
  const { builtBy, reference } = plan;
  if (waitedMs < patienceMs)
    return new NotPushedYet(
      `waiting until ${builtBy} has built and pushed it${seen === undefined ? '' : ` (${seen})`}`,
    );
  return new FleetError(
    {
      code: 'image.not-pushed',
      what: `${builtBy} has not pushed ${reference}`,
      ...(seen === undefined ? {} : { seen }),
      next: `look at what keeps it: azp-fleet image which ${builtBy}`,
    },
    { cause: error },
  );
}
