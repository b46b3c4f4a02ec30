// The whole way on loopback, without Docker: registered over REST with our own key, the three files put into the
// stand-in agent's folder, run.sh started, a job taken from the fake server. Real: HTTP, keys, processes, signals.
// Stand-in: the server and the agent program. Slow rules run 100 times as fast, or
// the server's clock jumps.
import { spawn } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import { agentFiles, generateAgentKey, type AgentKey } from '../../../src/azure/keys.ts';
import { installAgent } from '../../standin/agent/pack.ts';
import { newAgent, useFake } from './fake/server.ts';

const speed = 100;
const fake = useFake(speed);
const timeoutMs = 50_000;
let template = '';
let keys: AgentKey[] = [];

beforeAll(async () => {
  template = join(fake.folder, 'template');
  await installAgent(template, '4.275.0');
  keys = await Promise.all(Array.from({ length: 2 }, () => generateAgentKey()));
});

/** A registered agent in a folder of its own. */
async function install(name: string, key = keys[0] as AgentKey) {
  const client = fake.client();
  const { pool } = await client.ensurePool('gpu');
  const existing = await client.findAgent(pool.id, name);
  const agent =
    existing === undefined
      ? await client.createAgent(pool.id, newAgent(name, key))
      : await client.replaceAgent(pool.id, existing.id, newAgent(name, key));
  const folder = join(fake.folder, `${name}-${Math.random()}`);
  cpSync(template, folder, { recursive: true, verbatimSymlinks: true });
  for (const file of agentFiles({ agent, pool, organization: fake.server.organization, key })) {
    writeFileSync(join(folder, file.name), file.content, { mode: file.mode });
  }
  return { client, pool, agent, folder };
}

function start(folder: string, program = 'run.sh', args: readonly string[] = ['--once']) {
  const child = spawn(join(folder, program), args, {
    env: {
      PATH: process.env['PATH'],
      AGENT_ALLOW_RUNASROOT: '1',
      HOSTNAME: 'c0ffee',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]).then((parts) => parts.join(''));
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
  return { child, output, exited };
}

const online = (name: string) =>
  fake.control.until(
    (_, { pools }) =>
      pools.some(({ agents }) => agents.some((each) => each.name === name && each.status === 'online')),
    { timeoutMs, everyMs: 20 },
  );

const listener = (folder: string) => start(folder, 'bin/Agent.Listener', ['run', '--once']);

test('one job, then exit 0, and the server knows who ran it where', async () => {
  const { client, pool, folder } = await install('one-0');
  const [first, second] = await fake.control.queue({
    pool: 'gpu',
    name: 'train',
    count: 2,
    demands: ['Agent.Name -equals one-0'],
    script: 'echo "on $AGENT_NAME"; pwd; exit 0',
  });
  expect(first?.state).toBe('done');
  expect(first?.message).toMatch(/No agent found in pool gpu which satisfies/u);
  expect(second?.result).toBe('failed');

  await fake.control.queue({
    pool: 'gpu',
    name: 'train',
    count: 2,
    demands: ['git'],
    script: 'echo "on $AGENT_NAME"',
  });
  const run = start(folder);
  expect(await run.exited).toBe(0);
  const output = await run.output;
  expect(output).toMatch(/Listening for Jobs/u);
  expect(output).toMatch(/Running job: train-1/u);
  expect(output).toMatch(/Job train-1 completed with result: Succeeded/u);
  expect(output).not.toMatch(/train-2/u);
  const [one, two] = (await fake.control.jobs()).slice(-2);
  expect(one).toMatchObject({
    result: 'succeeded',
    log: 'on one-0\n',
    runs: [{ agent: 'one-0', container: 'c0ffee' }],
  });
  expect(two).toMatchObject({ state: 'waiting', runs: [] });
  expect(await client.findAgent(pool.id, 'one-0')).toMatchObject({
    status: 'offline',
    lastCompletedRequest: { requestId: one?.id, result: 'succeeded' },
  });
  await fake.control.cancel(two?.id ?? 0);
});

test("a failing job is the job's failure, not the agent's", async () => {
  const { folder } = await install('fails-0');
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], script: 'exit 3' });
  expect(await start(folder).exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({ result: 'failed' });
});

test('SIGTERM cancels the running job, ends the session and exits 0', async () => {
  const { client, pool, folder } = await install('term-0');
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], seconds: 5 });
  const run = listener(folder);
  await fake.control.until((jobs) => jobs.some(({ id, state }) => id === job?.id && state === 'running'), {
    timeoutMs,
  });
  const agent = await client.findAgent(pool.id, 'term-0');
  expect(agent?.assignedRequest).toMatchObject({ requestId: job?.id });
  expect(await client.deleteAgent(pool.id, agent?.id ?? 0)).toBe(false);
  run.child.kill('SIGTERM');
  expect(await run.exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({ result: 'canceled' });
  expect(await client.findAgent(pool.id, 'term-0')).toMatchObject({ status: 'offline' });
});

test('a job that is cancelled on the server ends as such, and so does its agent', async () => {
  const { folder } = await install('cancel-0');
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], seconds: 5 });
  const run = listener(folder);
  await fake.control.until((jobs) => jobs.some(({ id, state }) => id === job?.id && state === 'running'), {
    timeoutMs,
  });
  await fake.control.cancel(job?.id ?? 0);
  expect(await run.exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({ result: 'canceled' });
});

test('a disabled agent gets no job until it is enabled again', async () => {
  const { client, pool, agent, folder } = await install('disabled-0');
  const run = listener(folder);
  await online('disabled-0');
  await client.setAgentEnabled(pool.id, agent.id, false);
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], script: 'true' });
  expect(job?.state).toBe('waiting');
  await client.setAgentEnabled(pool.id, agent.id, true);
  expect(await run.exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({ result: 'succeeded' });
});

test('an idle agent that is told to stop leaves no session behind', async () => {
  const { folder } = await install('idle-0');
  const run = listener(folder);
  await online('idle-0');
  run.child.kill('SIGINT');
  expect(await run.exited).toBe(0);
  const again = listener(folder);
  await online('idle-0');
  again.child.kill('SIGTERM');
  expect(await again.exited).toBe(0);
  expect(await again.output).not.toMatch(/already exists/u);
});

test('a second listener of the same agent gives up after 240 s with exit 1', async () => {
  const { folder } = await install('twice-0');
  const first = listener(folder);
  await online('twice-0');
  const second = listener(folder);
  expect(await second.exited).toBe(1);
  expect(await second.output).toMatch(
    /A session for this agent already exists\.\n[^]*Stop retry on SessionConflict/u,
  );
  first.child.kill('SIGTERM');
  expect(await first.exited).toBe(0);
});

test("a killed listener's session expires and the next one gets in", async () => {
  const { folder } = await install('killed-0');
  const first = listener(folder);
  await online('killed-0');
  first.child.kill('SIGKILL');
  await first.exited;
  fake.ahead = (5 * 60_000) / speed;
  await fake.control.until(
    (_, { pools }) => !pools.some(({ agents }) => agents.some(({ status }) => status === 'online')),
    {
      timeoutMs,
    },
  );
  const second = listener(folder);
  await online('killed-0');
  second.child.kill('SIGTERM');
  expect(await second.exited).toBe(0);
});

test('a job whose agent vanished is given up by the server', async () => {
  const { folder } = await install('gone-0');
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], seconds: 5 });
  const run = listener(folder);
  await fake.control.until((jobs) => jobs.some(({ id, state }) => id === job?.id && state === 'running'), {
    timeoutMs,
  });
  run.child.kill('SIGKILL');
  await run.exited;
  fake.ahead = (15 * 60_000) / speed;
  const jobs = await fake.control.until(
    (all) => all.some(({ id, state }) => id === job?.id && state === 'done'),
    {
      timeoutMs,
    },
  );
  expect(jobs.find(({ id }) => id === job?.id)).toMatchObject({
    result: 'abandoned',
    message: expect.stringMatching(/^We stopped hearing from agent gone-0\./u),
  });
  await fake.control.endSession('gone-0');
});

test('login withdrawn: exit 0 without a job', async () => {
  const { folder } = await install('revoked-0');
  const run = listener(folder);
  await online('revoked-0');
  await fake.control.revokeAgent('revoked-0');
  expect(await run.exited).toBe(0);
  expect(await run.output).toMatch(/OAuth token has been revoked/u);
});

test('removed from the pool before it starts: exit 1 and the reason', async () => {
  const { client, pool, agent, folder } = await install('removed-0');
  await client.deleteAgent(pool.id, agent.id);
  const run = listener(folder);
  expect(await run.exited).toBe(1);
  expect(await run.output).toMatch(/Failed to create session/u);
});

test('a key that is not the registered one gets nowhere', async () => {
  const { folder } = await install('key-0');
  await install('key-0', keys[1]);
  const run = listener(folder);
  expect(await run.exited).toBe(1);
  expect(await run.output).toMatch(/not signed with the registered key/u);
});

test('an update is asked for: exit 4 in once mode', async () => {
  const { pool, agent, folder } = await install('update-0');
  const run = listener(folder);
  await online('update-0');
  await fetch(
    `${fake.server.organization}/_apis/distributedtask/pools/${pool.id}/messages?agentId=${agent.id}&api-version=7.1`,
    {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(':good-token').toString('base64')}` },
    },
  );
  expect(await run.exited).toBe(4);
  expect(await run.output).toMatch(/Agent update in progress/u);
});

test('not configured: exit 1', async () => {
  expect(await listener(template).exited).toBe(1);
});

test.each([
  ['a token', 'conf-pat', ['--auth', 'pat', '--token', 'good-token']],
  [
    'a service principal',
    'conf-sp',
    ['--auth', 'sp', '--clientid', 'c', '--tenantid', 't', '--clientsecret', 'good-token'],
  ],
])('config.sh registers with %s, config.sh remove takes it back', async (_, name, login) => {
  const { client, pool } = await install('other-0');
  const folder = join(fake.folder, name);
  cpSync(template, folder, { recursive: true, verbatimSymlinks: true });
  const args = ['--url', fake.server.organization, '--pool', 'gpu', '--agent', name, '--acceptTeeEula'];
  expect(await start(folder, 'config.sh', ['--unattended', ...login, ...args]).exited).toBe(0);
  const demands = [`Agent.Name -equals ${name}`];
  const [job] = await fake.control.queue({ pool: 'gpu', demands, script: 'true' });
  expect(await start(folder).exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({
    result: 'succeeded',
    runs: [{ agent: name }],
  });
  expect(await start(folder, 'config.sh', ['remove', '--unattended', ...login]).exited).toBe(0);
  expect(await client.findAgent(pool.id, name)).toBeUndefined();
});
