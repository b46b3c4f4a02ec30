import { randomBytes, randomUUID } from 'node:crypto';

import { withdrawn } from '../http/access.ts';
import { invalidArgument, nameIn, parameter, results } from '../http/arguments.ts';
import { encryptedFor } from '../http/oauth.ts';
import { type FakeCall, type Reply, type Route, empty, ok, refusal, textOf } from '../http/reply.ts';
import { describeRequest } from '../shapes.ts';
import { agentOf } from '../world/agent-index.ts';
import { type Fake, rule } from '../world/fake.ts';
import { encrypted, messageAfter, poll } from '../world/messages.ts';
import { finish } from '../world/queue.ts';
import { beginSession, endSession, sessionOf } from '../world/scheduler.ts';
import type { FakeRequest, FakeSession } from '../world/state.ts';
import { capabilitiesOf, capabilityRefusal, versionRefusal } from './agents.ts';

const sessionExpired = refusal(400, 'TaskAgentSessionExpiredException', 'The session has expired.');

/** The description of an agent when it begins to listen; null members are omitted. */
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
  // First the part that may fail: a session whose key the agent never got would keep the agent's name in use.
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
  const desired = id?.toLowerCase();
  return fake.state.sessions.find((session) => session.id === desired && session.agentId === agentId);
}

/** Returns the oldest message that the caller has not seen: it stays until it is deleted. 202: none within a long poll. */
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

/** Agents send the empty token: their own is never used (JobDispatcher.cs). */
const noToken = '00000000-0000-0000-0000-000000000000';

/**
 * Renews the lock; the first call reports that an agent has accepted the job. With a result it reports the end of the
 * job, as listeners do below plan version 8.
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

export const jobRequestRoutes: readonly Route[] = [
  ['PATCH', /^\/_apis\/distributedtask\/pools\/(\d+)\/jobrequests\/(\d+)$/iu, renewOrFinish],
];
