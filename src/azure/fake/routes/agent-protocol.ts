import { constants, publicEncrypt, randomBytes, randomUUID } from 'node:crypto';
import { withdrawn } from '../http/access.ts';
import { describeRequest } from './describe.ts';
import { rule, type Fake } from '../world/fake.ts';
import { publicKeyOf } from '../http/oauth.ts';
import { empty, ok, refusal, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { encrypted, endSession, finish, sessionOf } from '../world/scheduler.ts';
import type { FakeRequest, FakeSession } from '../world/state.ts';

const sessionExpired = refusal(400, 'TaskAgentSessionExpiredException', 'The session has expired.');

function createSession({ fake, body, agentId }: FakeCall, poolId = ''): Reply {
  const {
    ownerName = '',
    agent: described,
    systemCapabilities,
  } = body as {
    ownerName?: string;
    agent?: { id?: number; name?: string; version?: string };
    systemCapabilities?: Record<string, string>;
  };
  const agent = fake.state.agents.find(({ id }) => id === described?.id && id === agentId);
  if (agent === undefined || agent.poolId !== Number(poolId)) {
    return refusal(404, 'TaskAgentNotFoundException', `Agent ${described?.name} was not found.`);
  }
  const existing = sessionOf(fake, agent.id);
  if (existing !== undefined) {
    const message = `The task agent ${agent.name} already has an active session for owner ${existing.ownerName}.`;
    return refusal(409, 'TaskAgentSessionConflictException', message);
  }
  const key = randomBytes(32);
  const session: FakeSession = {
    id: randomUUID(),
    agentId: agent.id,
    ownerName,
    lastSeen: fake.now(),
    key: key.toString('base64'),
    messages: [],
    shuttingDown: false,
  };
  // Capabilities are refreshed with every session.
  if (systemCapabilities !== undefined) agent.systemCapabilities = systemCapabilities;
  if (described?.version !== undefined) agent.version = described.version;
  fake.state.sessions.push(session);
  fake.changed();
  const padding = { key: publicKeyOf(agent), padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
  const value = publicEncrypt(padding, key).toString('base64');
  return ok({
    sessionId: session.id,
    ownerName,
    agent: described,
    encryptionKey: { encrypted: true, value },
  });
}

function findSession({ fake, agentId }: FakeCall, id: string | null): FakeSession | undefined {
  return fake.state.sessions.find((session) => session.id === id && session.agentId === agentId);
}

async function nextMessage(call: FakeCall): Promise<Reply> {
  const { fake, query, signal } = call;
  const session = findSession(call, query.get('sessionId'));
  if (session === undefined) return sessionExpired;
  const last = Number(query.get('lastMessageId') ?? 0);
  const find = () => session.messages.find(({ messageId }) => messageId > last);
  session.lastSeen = fake.now();
  if (find() === undefined) await longPoll(fake, session, signal);
  session.lastSeen = fake.now();
  if (fake.state.agents.find(({ id }) => id === call.agentId)?.revoked !== false) return withdrawn;
  if (findSession(call, session.id) === undefined) return sessionExpired;
  const message = find();
  return message === undefined ? { status: 202 } : ok(encrypted(session, message));
}

/** Until something happens to the session, the caller hangs up, or the poll has lasted long enough. */
function longPoll(fake: Fake, session: FakeSession, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      if (fake.waiting.get(session.id) === wake) fake.waiting.delete(session.id);
      resolve();
    };
    const timer = setTimeout(wake, rule(fake, 'longPoll'));
    signal.addEventListener('abort', wake, { once: true });
    fake.waiting.get(session.id)?.();
    fake.waiting.set(session.id, wake);
    if (signal.aborted) wake();
  });
}

/** Renewing the lock for the first time is how an agent says that it has taken the job. */
function renew({ fake, query, agentId }: FakeCall, _poolId = '', id = ''): Reply {
  const request = fake.state.requests.find(({ requestId }) => requestId === Number(id));
  const mine = request?.agentId === agentId && request?.lockToken === query.get('lockToken');
  if (request === undefined || !mine || request.result !== undefined) {
    return refusal(
      400,
      'TaskAgentJobTokenExpiredException',
      `The lock of job request ${id} is not valid any more.`,
    );
  }
  if (request.receiveTime === undefined) recordRun(fake, request, agentId);
  request.receiveTime ??= fake.now();
  request.lockedUntil = fake.now() + rule(fake, 'lock');
  fake.changed();
  return ok(describeRequest(fake, request));
}

function recordRun(fake: Fake, request: FakeRequest, agentId = 0): void {
  const session = sessionOf(fake, agentId);
  request.runs.push({
    agentId,
    agent: fake.state.agents.find(({ id }) => id === agentId)?.name ?? '',
    session: session?.id ?? '',
    container: session?.ownerName ?? '',
    at: fake.now(),
  });
}

/** The agent's last word about a job. */
function jobEvent({ fake, body, agentId }: FakeCall, planId = ''): Reply {
  const { name, result, agentShuttingDown } = body as {
    name?: string;
    result?: FakeRequest['result'];
    agentShuttingDown?: boolean;
  };
  const request = fake.state.requests.find((each) => each.planId === planId && each.agentId === agentId);
  if (request === undefined || request.result !== undefined || name !== 'JobCompleted') {
    return refusal(404, 'TaskAgentJobNotFoundException', `No running job in plan ${planId}.`);
  }
  finish(fake, request, result ?? 'failed');
  const session = sessionOf(fake, agentId ?? 0);
  if (session !== undefined && agentShuttingDown === true) session.shuttingDown = true;
  fake.changed();
  return empty;
}

/** Longest job output that is kept, in characters. */
const maxLog = 64 * 1024;

export const agentProtocol: readonly Route[] = [
  ['POST', /^\/_apis\/distributedtask\/pools\/(\d+)\/sessions$/u, createSession],
  [
    'DELETE',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/sessions\/([^/]+)$/u,
    (call, _poolId, id = '') => {
      const session = findSession(call, id);
      if (session !== undefined) endSession(call.fake, session);
      call.fake.changed();
      return empty;
    },
  ],
  ['GET', /^\/_apis\/distributedtask\/pools\/(\d+)\/messages$/u, nextMessage],
  [
    'DELETE',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/messages\/(\d+)$/u,
    (call, _poolId, id = '') => {
      const session = findSession(call, call.query.get('sessionId'));
      if (session === undefined) return sessionExpired;
      session.messages = session.messages.filter(({ messageId }) => messageId !== Number(id));
      call.fake.changed();
      return empty;
    },
  ],
  ['PATCH', /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests\/(\d+)$/u, renew],
  ['POST', /^\/[^/]+\/_apis\/distributedtask\/hubs\/build\/plans\/([^/]+)\/events$/u, jobEvent],
  [
    'POST',
    /^\/[^/]+\/_apis\/distributedtask\/hubs\/build\/plans\/([^/]+)\/logs\/\d+$/u,
    ({ fake, text, agentId }, planId = '') => {
      const request = fake.state.requests.find((each) => each.planId === planId && each.agentId === agentId);
      if (request === undefined)
        return refusal(404, 'TaskAgentJobNotFoundException', `No job in plan ${planId}.`);
      request.log = (request.log + text).slice(-maxLog);
      fake.changed();
      return ok({});
    },
  ],
];
