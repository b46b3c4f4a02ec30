// What a listener asks of the server. Each case says where it is from: the agent's source or its recorded requests
// (test/fixtures/agent), or what was seen when they ran.
import { beforeEach, describe, expect, test } from 'vitest';
import { Rules } from '../../../../../practice/azure/world/fake.ts';
import { useFake } from '../server.ts';
import { RawAgent } from './raw-agent.ts';

const fake = useFake();
let agent: RawAgent;
let count = 0;

beforeEach(async () => {
  count += 1;
  agent = await RawAgent.register(fake, `listener-${count}`);
});

/** A job that this agent alone can take; its id. */
async function queue(more: object = {}): Promise<number> {
  const demands = [`Agent.Name -equals ${agent.name}`];
  const [job] = await fake.control.queue({ pool: 'wire', demands, ...more });
  return job?.id ?? 0;
}

const open = () => agent.openSession({ systemCapabilities: { 'Agent.Name': agent.name } });
const job = async (id: number) => (await fake.control.jobs()).find((each) => each.id === id);

/** Opens a session once so that the server knows the agent's capabilities. */
async function known(): Promise<void> {
  await open();
  await agent.call('DELETE', `${agent.pool}/sessions/${agent.sessionId}`);
}

describe('sessions', () => {
  test('a second one is refused, with the holder of the first (console of a conflict, run)', async () => {
    await open();
    expect(await agent.openSession()).toMatchObject({
      status: 409,
      body: {
        typeKey: 'TaskAgentSessionConflictException',
        message: `The task agent ${agent.name} already has an active session for owner gpu-1.`,
      },
    });
  });

  test('a lost one is refused by a name that the listener makes a new one for (MessageListener.cs)', async () => {
    await open();
    await fake.control.endSession(agent.name);
    const { pool, sessionId } = agent;
    const expired = { status: 400, body: { typeKey: 'TaskAgentSessionExpiredException' } };
    expect(await agent.poll()).toMatchObject(expired);
    expect(await agent.call('DELETE', `${pool}/messages/1?sessionId=${sessionId}`)).toMatchObject(expired);
    expect((await agent.openSession()).status).toBe(200);
  });

  test('a session without polls ends after five minutes, and the name is free (vso-agent#202)', async () => {
    await open();
    fake.ahead = Rules.sessionExpiry - 1000;
    expect((await agent.openSession()).status).toBe(409);
    fake.ahead = Rules.sessionExpiry + 1000;
    await fake.control.until(
      (_, { pools }) => pools.every(({ agents }) => agents.every(({ status }) => status === 'offline')),
      { timeoutMs: 180_000 },
    );
    expect((await agent.openSession()).status).toBe(200);
  });

  test('one that a poll waits in ends in it (recorded: client closed)', async () => {
    await open();
    const poll = agent.poll();
    await fake.control.endSession(agent.name);
    expect(await poll).toMatchObject({ body: { typeKey: 'TaskAgentSessionExpiredException' } });
  });
});

describe('messages', () => {
  test('two polls side by side get the same one, and neither ends the other (recorded: keep-alive)', async () => {
    await known();
    await open();
    const polls = [agent.poll(), agent.poll()];
    await queue();
    const messages = (await Promise.all(polls)).map((answer) => agent.open(answer));
    expect(messages.map(({ messageType }) => messageType)).toEqual(Array(2).fill('PipelineAgentJobRequest'));
    expect(messages[0]?.messageId).toBe(messages[1]?.messageId);
  });

  test('a message stays until it is deleted, and is not sent twice to one session (recorded: lastMessageId)', async () => {
    await known();
    await queue();
    await open();
    const { messageId } = agent.open(await agent.poll());
    expect(agent.open(await agent.poll()).messageId).toBe(messageId);
    const later = new AbortController();
    const waiting = agent.poll(messageId, later.signal).then(
      () => 'answered',
      () => 'hung up',
    );
    expect(
      (await agent.call('DELETE', `${agent.pool}/messages/${messageId}?sessionId=${agent.sessionId}`)).status,
    ).toBe(204);
    later.abort();
    expect(await waiting).toBe('hung up');
  });

  test('a cancellation reaches the session that comes after a lost one (run: lost session, new session)', async () => {
    await known();
    const id = await queue();
    await open();
    const taken = await agent.takeJob();
    await fake.control.endSession(agent.name);
    await fake.control.cancel(id);
    await open();
    expect(agent.open(await agent.poll())).toMatchObject({
      messageType: 'JobCancellation',
      body: { jobId: taken.jobId, timeout: '00:01:00' },
    });
  });
});

describe('the lock of a job', () => {
  const zero = '00000000-0000-0000-0000-000000000000';
  const other = '11111111-1111-1111-1111-111111111111';

  test.each<[string, (own: string) => string, number]>([
    ['the empty token renews (JobDispatcher.cs: it has never been used)', () => zero, 200],
    ['the token of the message renews', (own) => own, 200],
    ['another one does not', () => other, 400],
    ['none does not', () => '', 400],
  ])('%s', async (_, token, status) => {
    await known();
    await queue();
    await open();
    const taken = await agent.takeJob();
    const path = `${agent.pool}/jobrequests/${taken.requestId}?lockToken=${token(taken.lockToken)}`;
    const answer = await agent.call('PATCH', path, { json: { requestId: taken.requestId } });
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body['typeKey']).toBe('TaskAgentJobTokenExpiredException');
    else expect(Date.parse(String(answer.body['lockedUntil']))).toBeGreaterThan(Date.now() + 9 * 60_000);
  });

  test('the first renewal begins the job; before it the job is only assigned (JobDispatcher.cs)', async () => {
    await known();
    const id = await queue();
    await open();
    const { body } = agent.open(await agent.poll());
    expect(await job(id)).toMatchObject({ state: 'assigned', runs: [] });
    await agent.renew(body);
    expect(await job(id)).toMatchObject({ state: 'running', runs: [{ agent: agent.name }] });
  });

  test('a job that was offered and not begun goes back to the queue with its session', async () => {
    await known();
    const id = await queue();
    await open();
    const { body } = agent.open(await agent.poll());
    await agent.call('DELETE', `${agent.pool}/sessions/${agent.sessionId}`);
    expect(await job(id)).toMatchObject({ state: 'waiting' });
    expect((await agent.renew(body)).status).toBe(400);
    expect((await agent.work(body, 'GET', `timelines/${body.timeline.id}`)).status).toBe(401);
  });

  test('a job whose agent says nothing more is given up after lock and grace, not before (agent#4813)', async () => {
    await known();
    const id = await queue();
    await open();
    const taken = await agent.takeJob();
    // Canceling asks the agent, which is gone: the job is counted on, and its agent cannot be deleted.
    await fake.control.cancel(id);
    fake.ahead = Rules.lock + Rules.lockGrace - 60_000;
    await fake.control.settle(0);
    expect(await job(id)).toMatchObject({ state: 'running' });
    const client = fake.client();
    const pools = await client.listPools();
    const listed = await Promise.all(
      pools.map(async (pool) => ({ pool, agents: await client.listAgents(pool.id) })),
    );
    const counted = listed.flatMap(({ pool, agents }) =>
      agents.filter((each) => each.name === agent.name).map((each) => ({ pool, ...each })),
    );
    expect(counted).toMatchObject([{ assignedRequest: { requestId: id } }]);
    for (const { pool, id: agentId } of counted)
      expect(await client.deleteAgent(pool.id, agentId)).toBe(false);
    fake.ahead = Rules.lock + Rules.lockGrace + 1000;
    await fake.control.until((jobs) => jobs.some((each) => each.id === id && each.state === 'done'), {
      timeoutMs: 180_000,
    });
    expect(await job(id)).toMatchObject({
      result: 'abandoned',
      message: expect.stringContaining('stopped hearing'),
    });
    await agent.logIn(fake.ahead);
    expect(await agent.renew(taken)).toMatchObject({
      body: { typeKey: 'TaskAgentJobTokenExpiredException' },
    });
  });

  test.each([
    ['succeeded', 200],
    ['canceled', 200],
    ['nonsense', 400],
  ])('below plan version 8 the listener ends the job by it: %s (recorded body)', async (result, status) => {
    await known();
    const id = await queue({ planVersion: 7 });
    await open();
    const taken = await agent.takeJob();
    expect(taken.plan.version).toBe(7);
    expect((await agent.renew(taken, { finishTime: new Date().toISOString(), result })).status).toBe(status);
    expect(await job(id)).toMatchObject(status === 200 ? { state: 'done', result } : { state: 'running' });
  });
});

test('trials are off, which is no reason for a listener to end (Agent.cs)', async () => {
  const path = '/_apis/FeatureFlags/DistributedTask.Agent.CheckPsModulesLocations?checkFeatureExists=False';
  expect(await agent.call('GET', path)).toMatchObject({ status: 200, body: { effectiveState: 'Off' } });
});
