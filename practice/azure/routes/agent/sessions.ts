import { randomBytes, randomUUID } from 'node:crypto';
import { withdrawn } from '../../http/access.ts';
import { encryptedFor } from '../../http/agent-key.ts';
import { invalidArgument } from '../../http/arguments.ts';
import { parameter } from '../../http/query.ts';
import { empty, ok, refusal, textOf, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { agentOf } from '../../world/agent-index.ts';
import { rule } from '../../world/fake.ts';
import { encrypted } from '../../world/messages.ts';
import { messageAfter, poll } from '../../world/polls.ts';
import { beginSession, endSession, sessionOf } from '../../world/scheduler.ts';
import type { FakeSession } from '../../world/state.ts';
import { capabilitiesOf, capabilityRefusal, versionRefusal } from '../agent-body.ts';

const sessionExpired = refusal(400, 'TaskAgentSessionExpiredException', 'The session has expired.');

/** What an agent says of itself when it begins to listen; members that are null are not said. */
function saidIn(body: Readonly<Record<string, unknown>>) {
  const agent = Object(body['agent']) as Readonly<Record<string, unknown>>;
  const given = (value: unknown) => value !== undefined && value !== null;
  const { ownerName, systemCapabilities } = body;
  const refused =
    (given(ownerName) && typeof ownerName !== 'string'
      ? invalidArgument('The name of the owner is no text.', 'session.OwnerName')
      : undefined) ??
    (given(agent['version']) ? versionRefusal(agent['version']) : undefined) ??
    capabilityRefusal(systemCapabilities, 'session.SystemCapabilities');
  return {
    agent,
    refused,
    version: textOf(agent, 'version'),
    capabilities:
      refused === undefined && given(systemCapabilities) ? capabilitiesOf(systemCapabilities) : undefined,
  };
}

function createSession({ fake, body, agentId }: FakeCall, poolId = ''): Reply {
  const { agent: described, refused, version, capabilities } = saidIn(body);
  const agent = agentOf(fake.state, agentId ?? 0);
  if (agent === undefined || agent.id !== described['id'] || agent.poolId !== Number(poolId)) {
    const message = `Agent ${textOf(described, 'name')} was not found.`;
    return refusal(404, 'TaskAgentNotFoundException', message);
  }
  if (refused !== undefined) return refused;
  const existing = sessionOf(fake, agent.id);
  if (existing !== undefined) {
    const message = `The task agent ${agent.name} already has an active session for owner ${existing.ownerName}.`;
    return refusal(409, 'TaskAgentSessionConflictException', message);
  }
  const key = randomBytes(32);
  // First what may fail: a session whose key nobody was told would keep the agent's name taken.
  const value = agent.publicKey && encryptedFor(agent.publicKey, key);
  if (value === undefined) return invalidArgument('The key of the agent is not valid.', 'session.Agent');
  const ownerName = textOf(body, 'ownerName');
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
  if (capabilities !== undefined) agent.systemCapabilities = capabilities;
  if (version !== '') agent.version = version;
  beginSession(fake, session);
  fake.changed();
  return ok({
    sessionId: session.id,
    ownerName,
    agent: described,
    encryptionKey: { encrypted: true, value },
  });
}

function findSession({ fake, agentId }: FakeCall, id: string | undefined): FakeSession | undefined {
  const wanted = id?.toLowerCase();
  return fake.state.sessions.find((session) => session.id === wanted && session.agentId === agentId);
}

/** The oldest message that the caller has not seen yet: it stays until it is deleted. 202: none within a long poll. */
async function nextMessage(call: FakeCall): Promise<Reply> {
  const { fake, query, signal } = call;
  const session = findSession(call, parameter(query, 'sessionId'));
  if (session === undefined) return sessionExpired;
  const last = Number(parameter(query, 'lastMessageId') ?? 0);
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
      const session = findSession(call, parameter(call.query, 'sessionId'));
      if (session === undefined) return sessionExpired;
      session.messages = session.messages.filter(({ messageId }) => messageId !== Number(id));
      call.fake.changed();
      return empty;
    },
  ],
];
