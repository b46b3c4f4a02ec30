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

/** The token of a job opens its own plan, a client's any. Clients may name the project in place of its Guid. */
function isFor(call: FakeCall, job: FakeRequest, scope: string, planId: string): boolean {
  const { fake, requestId, agentId } = call;
  if (requestId === undefined ? agentId !== undefined : job.requestId !== requestId) return false;
  const scopes = [scopeOf(fake, job), encodeURIComponent(job.project)];
  return same(job.planId, planId) && scopes.some((each) => same(each, scope));
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
