import { nameIn, parameter, results } from '../../http/query.ts';
import { ok, refusal, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { describeRequest } from '../../shapes/request.ts';
import { agentOf } from '../../world/agent-index.ts';
import { rule, type Fake } from '../../world/fake.ts';
import { finish } from '../../world/queue.ts';
import { sessionOf } from '../../world/scheduler.ts';
import type { FakeRequest } from '../../world/state.ts';

/** Agents send the empty token: their own has never been used (JobDispatcher.cs). */
const noToken = '00000000-0000-0000-0000-000000000000';

/**
 * Renews the lock; the first time is how an agent says that it has taken the job. With a result it is the end of the
 * job, which listeners report so below plan version 8.
 */
function renewOrFinish({ fake, query, body, baseUrl, agentId }: FakeCall, poolId = '', id = ''): Reply {
  const request = fake.state.requests.find(
    (each) => each.requestId === Number(id) && each.poolId === Number(poolId),
  );
  const token = parameter(query, 'lockToken')?.toLowerCase() ?? '';
  const mine = request?.agentId === agentId && [noToken, request?.lockToken].includes(token);
  if (request === undefined || !mine || request.result !== undefined) {
    const message = `The lock of job request ${id} is not valid any more.`;
    return refusal(400, 'TaskAgentJobTokenExpiredException', message);
  }
  const { result: said } = body;
  if (said !== undefined && said !== null) {
    const result = nameIn(results, said);
    if (result === undefined)
      return refusal(400, 'ArgumentException', 'The result is none that a job can have.');
    finish(fake, request, result);
  } else {
    if (request.receiveTime === undefined) recordRun(fake, request, agentId);
    request.receiveTime ??= fake.now();
    request.lockedUntil = fake.now() + rule(fake, 'lock');
  }
  fake.changed();
  return ok(describeRequest(fake, baseUrl, request));
}

function recordRun(fake: Fake, request: FakeRequest, agentId = 0): void {
  const session = sessionOf(fake, agentId);
  request.runs.push({
    agentId,
    agent: agentOf(fake.state, agentId)?.name ?? '',
    session: session?.id ?? '',
    container: session?.ownerName ?? '',
    at: fake.now(),
  });
}

export const requestRoutes: readonly Route[] = [
  ['PATCH', /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests\/(\d+)$/iu, renewOrFinish],
];
