// What no listener or worker of good will sends, and what all of them may write in several ways.
import { beforeEach, describe, expect, test } from 'vitest';
import { anAgent, apiOf } from '../api.ts';
import { useFake } from '../server.ts';
import { RawAgent, type JobMessage } from './raw-agent.ts';

const fake = useFake();
let agent: RawAgent;
let count = 0;

beforeEach(async () => {
  count += 1;
  agent = await RawAgent.register(fake, `odd-${count}`);
});

const open = (more: object = {}) =>
  agent.openSession({ systemCapabilities: { 'Agent.Name': agent.name }, ...more });

async function take(): Promise<JobMessage> {
  await open();
  await fake.control.queue({ pool: 'wire', demands: [`Agent.Name -equals ${agent.name}`] });
  return agent.takeJob();
}

const job = async ({ requestId }: JobMessage) =>
  (await fake.control.jobs()).find(({ id }) => id === requestId);

describe('a session', () => {
  test.each<[string, (id: number) => object]>([
    ['a version that is a number', (id) => ({ agent: { id, version: 5 } })],
    ['capabilities that are text', () => ({ systemCapabilities: 'x' })],
    ['a capability that is an object', () => ({ systemCapabilities: { x: { toString: 1 } } })],
    ['an owner that is a number', () => ({ ownerName: 5 })],
  ])('is not begun with %s, and the pool can still be listed', async (_, more) => {
    expect((await agent.openSession(more(agent.id))).status).toBe(400);
    expect((await open()).status).toBe(200);
    expect(await apiOf(fake)('GET', `${agent.pool}/agents`)).toMatchObject({ status: 200 });
  });

  test('is not begun for a key that is too short for it, and the name stays free', async () => {
    const path = `${agent.pool}/agents/${agent.id}`;
    const put = (publicKey: unknown) =>
      apiOf(fake)('PUT', path, { ...anAgent(agent.name), authorization: { publicKey } });
    expect(await put({ modulus: 'AQAB', exponent: 'AQAB' })).toMatchObject({ status: 200 });
    expect((await open()).status).toBe(400);
    expect((await open()).status).toBe(400);
  });

  test('is found by its id in any case, and by names of parameters in any case', async () => {
    await open();
    const { pool, sessionId } = agent;
    await fake.control.queue({ pool: 'wire', demands: [`Agent.Name -equals ${agent.name}`] });
    const path = `${pool}/messages?SESSIONID=${sessionId.toUpperCase()}`;
    const message = agent.open(await agent.call('GET', `${path}&LastMessageId=0`));
    const gone = `${pool}/messages/${message.messageId}?SessionId=${sessionId}`;
    expect((await agent.call('DELETE', gone)).status).toBe(204);
    const { body } = await agent.call(
      'PATCH',
      `${pool}/jobrequests/${message.body.requestId}?LOCKTOKEN=${message.body.lockToken.toUpperCase()}`,
      { json: { result: 0 } },
    );
    expect(body).toMatchObject({ result: 'succeeded' });
  });
});

test.each<[unknown, string]>([
  [0, 'succeeded'],
  ['Succeeded', 'succeeded'],
  ['3', 'canceled'],
  [{ toString: 1 }, 'failed'],
])('a job that completed with %j has %s', async (result, ended) => {
  const taken = await take();
  const json = { name: 'JobCompleted', jobId: taken.jobId.toUpperCase(), result };
  expect((await agent.work(taken, 'POST', 'events', { json })).status).toBe(204);
  expect(await job(taken)).toMatchObject({ state: 'done', result: ended });
});

describe('a timeline', () => {
  test.each(['__proto__', 'constructor', 'toString'])('named %s is none', async (name) => {
    const taken = await take();
    const json = { value: [{ id: 'x', polluted: 'yes' }], count: 1 };
    const below = `timelines/${name}`;
    expect((await agent.work(taken, 'GET', below)).status).toBe(404);
    expect((await agent.work(taken, 'PATCH', `${below}/records`, { json })).status).toBe(404);
    expect((await agent.work(taken, 'PUT', below, { json: {} })).status).toBe(400);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test('is shown without records whatever the case of the parameter', async () => {
    const taken = await take();
    const { body } = await agent.work(taken, 'GET', `timelines/${taken.timeline.id}?INCLUDERECORDS=False`);
    expect(body['records']).toBeUndefined();
  });

  test('has no attachments of a kind whose percent codes are none', async () => {
    expect((await agent.work(await take(), 'GET', 'attachments/%ZZ')).status).toBe(400);
  });
});

test.each(['constructor', '__proto__', 'toString'])('%s is no access token', async (token) => {
  expect((await agent.call('GET', '/_apis/connectionData', { token })).status).toBe(401);
});

test('connection data are asked for by names in any case', async () => {
  const { body } = await agent.call('GET', '/_apis/connectionData?CONNECTOPTIONS=1');
  expect(body).toMatchObject({ locationServiceData: { accessMappings: [{}] } });
});
