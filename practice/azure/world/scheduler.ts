import { agentOf } from './agent-index.ts';
import { advanceBuilds } from './builds.ts';
import { rule, type Fake } from './fake.ts';
import { jobMessage } from './job/message.ts';
import { endPolls, send } from './messages.ts';
import { assignedRequest, finish, matches, permittedJobs } from './queue.ts';
import type { FakeAgent, FakeRequest, FakeSession } from './state.ts';

export function sessionOf(fake: Fake, agentId: number): FakeSession | undefined {
  return fake.state.sessions.find((session) => session.agentId === agentId);
}

/** Expires what is overdue, then assigns waiting jobs to idle agents, oldest job first, up to the permitted number. */
export function advance(fake: Fake): boolean {
  const expired = expire(fake);
  const begun = advanceBuilds(fake);
  const waiting = fake.state.requests.filter(
    ({ result, agentId }) => result === undefined && agentId === undefined,
  );
  let free = waiting.length === 0 ? [] : freeAgents(fake);
  let assigned = 0;
  const permitted = permittedJobs(fake.state);
  for (const request of waiting) {
    if (free.length === 0 || assigned >= permitted) break;
    const agent = free.find((candidate) => matches(candidate, request));
    if (agent === undefined) continue;
    assign(fake, request, agent);
    free = free.filter((each) => each !== agent);
    assigned += 1;
  }
  return expired || begun || assigned > 0;
}

/** Returns the agents that listen, are enabled and idle, in the order of their ids. */
function freeAgents(fake: Fake): FakeAgent[] {
  const listening = new Set(
    fake.state.sessions.filter(({ shuttingDown }) => !shuttingDown).map(({ agentId }) => agentId),
  );
  for (const { agentId, result } of fake.state.requests) {
    if (agentId !== undefined && result === undefined) listening.delete(agentId);
  }
  return listening.size === 0
    ? []
    : fake.state.agents.filter(({ id, enabled }) => enabled && listening.has(id));
}

function assign(fake: Fake, request: FakeRequest, agent: FakeAgent): void {
  const session = sessionOf(fake, agent.id);
  if (session === undefined) return;
  request.agentId = agent.id;
  request.assignTime = fake.now();
  request.lockedUntil = fake.now() + rule(fake, 'lock');
  send(fake, session, 'PipelineAgentJobRequest', jobMessage(fake, request, agent));
}

/** Starts an agent's session. It now gets the cancellation of a job that was canceled while it had no session. */
export function beginSession(fake: Fake, session: FakeSession): void {
  fake.state.sessions.push(session);
  statusChanged(fake, session.agentId);
  const request = assignedRequest(fake, session.agentId);
  if (request?.cancelRequested === true) sendCancellation(fake, session, request);
}

/** Ends a session. A job that the agent was offered and has not started returns to the queue; a started one keeps its lock. */
export function endSession(fake: Fake, session: FakeSession): void {
  fake.state.sessions = fake.state.sessions.filter(({ id }) => id !== session.id);
  statusChanged(fake, session.agentId);
  const request = assignedRequest(fake, session.agentId);
  if (request !== undefined && request.receiveTime === undefined) unassign(fake, request);
  endPolls(fake, session);
}

function statusChanged(fake: Fake, agentId: number): void {
  const agent = agentOf(fake.state, agentId);
  if (agent !== undefined) agent.statusChangedOn = new Date(fake.now()).toISOString();
}

function unassign(fake: Fake, request: FakeRequest): void {
  for (const [token, { requestId }] of Object.entries(fake.state.accessTokens)) {
    if (requestId === request.requestId) delete fake.state.accessTokens[token];
  }
  delete request.agentId;
  delete request.assignTime;
  delete request.lockedUntil;
  if (request.cancelRequested === true) finish(fake, request, 'canceled');
}

/** Cancels a job: a waiting one ends at once; the agent of a running one gets a message, and reports how it ended. */
export function cancel(fake: Fake, request: FakeRequest): void {
  if (request.result !== undefined) return;
  if (request.agentId === undefined) {
    finish(fake, request, 'canceled');
    return;
  }
  request.cancelRequested = true;
  const session = sessionOf(fake, request.agentId);
  if (session !== undefined) sendCancellation(fake, session, request);
}

function sendCancellation(fake: Fake, session: FakeSession, { jobId }: FakeRequest): void {
  send(fake, session, 'JobCancellation', { jobId, timeout: '00:01:00' });
}

function expire(fake: Fake): boolean {
  const now = fake.now();
  const silent = fake.state.sessions.filter(
    ({ id, lastSeen }) => !fake.polls.has(id) && lastSeen + rule(fake, 'sessionExpiry') <= now,
  );
  for (const session of silent) endSession(fake, session);
  const lost = fake.state.requests.filter(
    ({ result, agentId, lockedUntil }) =>
      result === undefined &&
      agentId !== undefined &&
      lockedUntil !== undefined &&
      lockedUntil + rule(fake, 'lockGrace') <= now,
  );
  for (const request of lost) {
    const agent = agentOf(fake.state, request.agentId ?? 0);
    finish(fake, request, 'abandoned');
    request.statusMessage = `We stopped hearing from agent ${agent?.name}. Verify the agent machine is running and has a healthy network connection.`;
  }
  return silent.length + lost.length > 0;
}
