import { createCipheriv, randomBytes, randomUUID } from 'node:crypto';
import { satisfies } from './demands.ts';
import { nextId, rule, type Fake } from './fake.ts';
import type { FakeAgent, FakeMessage, FakeRequest, FakeSession } from './state.ts';

export interface NewJob {
  readonly poolId: number;
  readonly project: string;
  readonly name: string;
  readonly demands: readonly string[];
  readonly script: string;
}

/** Demands are matched once, against all registered agents: with none the job fails, with offline ones it waits. */
export function queueJob(fake: Fake, job: NewJob): FakeRequest {
  const request: FakeRequest = {
    requestId: nextId(fake),
    poolId: job.poolId,
    jobName: job.name,
    project: job.project,
    demands: [...job.demands],
    script: job.script,
    jobId: randomUUID(),
    planId: randomUUID(),
    lockToken: randomUUID(),
    queueTime: fake.now(),
    log: '',
    runs: [],
  };
  fake.state.requests.push(request);
  if (matchingAgents(fake, request).length === 0) {
    const pool = fake.state.pools.find(({ id }) => id === job.poolId);
    finish(fake, request, 'failed');
    request.statusMessage = `No agent found in pool ${pool?.name} which satisfies the specified demands: ${job.demands.join(', ')}`;
  }
  return request;
}

export function matchingAgents(fake: Fake, request: FakeRequest): readonly FakeAgent[] {
  return fake.state.agents.filter((agent) => matches(agent, request));
}

function matches(agent: FakeAgent, request: FakeRequest): boolean {
  const capabilities = { ...agent.systemCapabilities, ...agent.userCapabilities };
  return agent.poolId === request.poolId && satisfies(capabilities, request.demands);
}

export function assignedRequest(fake: Fake, agentId: number): FakeRequest | undefined {
  return fake.state.requests.find((request) => request.agentId === agentId && request.result === undefined);
}

export function sessionOf(fake: Fake, agentId: number): FakeSession | undefined {
  return fake.state.sessions.find((session) => session.agentId === agentId);
}

/** Expires what is overdue, then gives waiting jobs to idle agents, oldest job first. */
export function advance(fake: Fake): boolean {
  const expired = expire(fake);
  let assigned = 0;
  let free = fake.state.agents.filter((agent) => isFree(fake, agent));
  for (const request of fake.state.requests) {
    if (free.length === 0) break;
    if (request.result !== undefined || request.agentId !== undefined) continue;
    const agent = free.find((candidate) => matches(candidate, request));
    if (agent === undefined) continue;
    assign(fake, request, agent);
    free = free.filter((each) => each !== agent);
    assigned += 1;
  }
  return expired || assigned > 0;
}

function isFree(fake: Fake, agent: FakeAgent): boolean {
  const session = sessionOf(fake, agent.id);
  return (
    agent.enabled &&
    session !== undefined &&
    !session.shuttingDown &&
    assignedRequest(fake, agent.id) === undefined
  );
}

function assign(fake: Fake, request: FakeRequest, agent: FakeAgent): void {
  const session = sessionOf(fake, agent.id);
  if (session === undefined) return;
  request.agentId = agent.id;
  request.assignTime = fake.now();
  request.lockedUntil = fake.now() + rule(fake, 'lock');
  send(fake, session, 'PipelineAgentJobRequest', {
    messageType: 'PipelineAgentJobRequest',
    jobId: request.jobId,
    requestId: request.requestId,
    lockToken: request.lockToken,
    lockedUntil: new Date(request.lockedUntil).toISOString(),
    jobDisplayName: request.jobName,
    jobName: '__default',
    plan: { scopeIdentifier: request.project, planType: 'Build', planId: request.planId },
    steps: [{ type: 'task', displayName: 'Bash', inputs: { targetType: 'inline', script: request.script } }],
  });
}

/** Message bodies are encrypted with the session's key, as the service does. */
export function send(
  fake: Fake,
  session: FakeSession,
  messageType: FakeMessage['messageType'],
  body: object,
): void {
  session.messages.push({ messageId: nextId(fake), messageType, body: JSON.stringify(body) });
}

export function encrypted(session: FakeSession, message: FakeMessage): object {
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', Buffer.from(session.key, 'base64'), iv);
  const body = Buffer.concat([cipher.update(message.body, 'utf8'), cipher.final()]).toString('base64');
  return { messageId: message.messageId, messageType: message.messageType, iv: iv.toString('base64'), body };
}

/** A job that the agent had been offered but not begun goes back to the queue; a begun one keeps its lock. */
export function endSession(fake: Fake, session: FakeSession): void {
  fake.state.sessions = fake.state.sessions.filter(({ id }) => id !== session.id);
  const request = assignedRequest(fake, session.agentId);
  if (request !== undefined && request.receiveTime === undefined) unassign(request);
  fake.waiting.get(session.id)?.();
}

function unassign(request: FakeRequest): void {
  delete request.agentId;
  delete request.assignTime;
  delete request.lockedUntil;
}

export function finish(fake: Fake, request: FakeRequest, result: NonNullable<FakeRequest['result']>): void {
  request.result = result;
  request.finishTime = fake.now();
}

function expire(fake: Fake): boolean {
  const now = fake.now();
  const silent = fake.state.sessions.filter(
    ({ id, lastSeen }) => !fake.waiting.has(id) && lastSeen + rule(fake, 'sessionExpiry') <= now,
  );
  for (const session of silent) endSession(fake, session);
  const lost = fake.state.requests.filter(
    ({ result, receiveTime, lockedUntil }) =>
      result === undefined &&
      receiveTime !== undefined &&
      lockedUntil !== undefined &&
      lockedUntil + rule(fake, 'lockGrace') <= now,
  );
  for (const request of lost) {
    const agent = fake.state.agents.find(({ id }) => id === request.agentId);
    finish(fake, request, 'abandoned');
    request.statusMessage = `We stopped hearing from agent ${agent?.name}. Verify the agent machine is running and has a healthy network connection.`;
  }
  return silent.length + lost.length > 0;
}
