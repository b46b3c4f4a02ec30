import { refusal, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { scopeOf } from '../../world/job/message.ts';
import type { FakeRequest } from '../../world/state.ts';

type PlanHandler = (call: FakeCall, request: FakeRequest, ...parts: string[]) => Reply;

/** A route below a plan: hub and plan in any case, as clients write them; the job that the plan is for is looked up. */
export function planRoute(method: string, below: string, handler: PlanHandler): Route {
  const pattern = new RegExp(`^/([^/]+)/_apis/distributedtask/hubs/build/plans/([^/]+)/${below}$`, 'iu');
  return [
    method,
    pattern,
    (call, scope = '', planId = '', ...parts) => {
      const request = call.fake.state.requests.find((each) => isFor(call, each, scope, planId));
      if (request !== undefined) return handler(call, request, ...parts);
      const message = `No plan found for identifier ${planId}.`;
      return refusal(404, 'TaskOrchestrationPlanNotFoundException', message);
    },
  ];
}

/** The token of a job opens its own plan. */
function isFor({ fake, requestId }: FakeCall, job: FakeRequest, scope: string, planId: string): boolean {
  return job.requestId === requestId && same(job.planId, planId) && same(scopeOf(fake, job), scope);
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
