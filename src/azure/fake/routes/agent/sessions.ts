import { constants, publicEncrypt, randomBytes, randomUUID } from 'node:crypto';
import { withdrawn } from '../../http/access.ts';
import { publicKeyOf } from '../../http/oauth.ts';
import { empty, ok, refusal, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { agentOf } from '../../world/agent-index.ts';
import { rule } from '../../world/fake.ts';
import { encrypted } from '../../world/messages.ts';
import { messageAfter, poll } from '../../world/polls.ts';
import { beginSession, endSession, sessionOf } from '../../world/scheduler.ts';
import type { FakeSession } from '../../world/state.ts';

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
  beginSession(fake, session);
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

/** The oldest message that the caller has not seen yet: it stays until it is deleted. 202: none within a long poll. */
async function nextMessage(call: FakeCall): Promise<Reply> {
  const { fake, query, signal } = call;
  const session = findSession(call, query.get('sessionId'));
  if (session === undefined) return sessionExpired;
  const last = Number(query.get('lastMessageId') ?? 0);
  session.lastSeen = fake.now();
  await poll(fake, session, last, { ms: rule(fake, 'longPoll'), signal });
  session.lastSeen = fake.now();
  if (agentOf(fake.state, call.agentId ?? 0)?.revoked !== false) return withdrawn;
  if (findSession(call, session.id) === undefined) return sessionExpired;
  const message = messageAfter(session, last);
  return message === undefined ? { status: 202 } : ok(encrypted(session, message));
}

export const sessionRoutes: readonly Route[] = [
  ['POST', /^\/_apis\/distributedtask\/pools\/(\d+)\/sessions$/iu, createSession],
  [
    'DELETE',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/sessions\/([^/]+)$/iu,
    (call, _poolId, id = '') => {
      const session = findSession(call, id);
      if (session !== undefined) endSession(call.fake, session);
      call.fake.changed();
      return empty;
    },
  ],
  ['GET', /^\/_apis\/distributedtask\/pools\/(\d+)\/messages$/iu, nextMessage],
  [
    'DELETE',
    /^\/_apis\/distributedtask\/pools\/(\d+)\/messages\/(\d+)$/iu,
    (call, _poolId, id = '') => {
      const session = findSession(call, call.query.get('sessionId'));
      if (session === undefined) return sessionExpired;
      session.messages = session.messages.filter(({ messageId }) => messageId !== Number(id));
      call.fake.changed();
      return empty;
    },
  ],
];
