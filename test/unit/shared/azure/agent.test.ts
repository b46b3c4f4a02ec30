// End to end on loopback, without Docker: registered over REST with our own key, the three files put into the
// stand-in agent's folder, run.sh started, a job taken from the practice server. Real: HTTP, keys, processes.
// Stand-in: the server and the agent program. Slow rules run 100 times as fast, or the server's clock jumps.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installAgent } from '../../../../practice/agent/pack.ts';
import { startListener, startProgram } from '../../../support/agent/program.ts';
import { timeoutMs, useAgents, versions } from './agent-scene.ts';

const speed = 100;
const agents = useAgents(speed);
const { fake } = agents;
const version = versions[5];

test('one job, then exit 0, and the server knows the agent and machine', async () => {
  const { folder, poolId } = await agents.install('one-0', version);
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
  const run = startProgram(folder, 'run.sh', ['--once']);
  expect(await run.exited).toBe(0);
  expect(run.console().join('\n')).not.toMatch(/train-2/u);
  const [one, two] = (await fake.control.jobs()).slice(-2);
  expect(one).toMatchObject({
    result: 'succeeded',
    log: 'on one-0\n',
    runs: [{ agent: 'one-0', container: 'c0ffee' }],
  });
  expect(two).toMatchObject({ state: 'waiting', runs: [] });
  const registered = await fake.client().listAgents(poolId, { lastCompleted: true });
  expect(registered.find(({ name }) => name === 'one-0')).toMatchObject({
    status: 'offline',
    lastCompletedRequest: { requestId: one?.id, result: 'succeeded' },
  });
  await fake.control.cancel(two?.id ?? 0);
});

test('an agent with a job is not deleted', async () => {
  const { folder, poolId, agentId, name } = await agents.install('busy-0', version);
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], seconds: 600 });
  const run = startListener(folder);
  await fake.control.until((jobs) => jobs.some(({ id, state }) => id === job?.id && state === 'running'), {
    timeoutMs,
  });
  expect(await fake.client().findAgent(poolId, name)).toMatchObject({
    assignedRequest: { requestId: job?.id },
  });
  expect(await fake.client().deleteAgent(poolId, agentId)).toBe(false);
  run.child.kill('SIGINT');
  expect(await run.exited).toBe(0);
});

test('a disabled agent gets no job until it is enabled again', async () => {
  const { folder, poolId, agentId, name } = await agents.install('disabled-0', version);
  const run = startListener(folder);
  await agents.online(name);
  await fake.client().setAgentEnabled(poolId, agentId, false);
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], script: 'true' });
  expect(job?.state).toBe('waiting');
  await fake.client().setAgentEnabled(poolId, agentId, true);
  expect(await run.exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({ result: 'succeeded' });
});

test("a killed listener's session expires, and the next listener connects", async () => {
  const { folder, name } = await agents.install('killed-0', version);
  const first = startListener(folder);
  await agents.online(name);
  first.child.kill('SIGKILL');
  await first.exited;
  fake.ahead = (5 * 60_000) / speed;
  await expect.poll(() => agents.isOnline(name), { timeout: timeoutMs }).toBe(false);
  const second = startListener(folder);
  await agents.online(name);
  second.child.kill('SIGINT');
  expect(await second.exited).toBe(0);
});

test('the server abandons a job whose agent disappears', async () => {
  const { folder } = await agents.install('gone-0', version);
  const [job] = await fake.control.queue({ pool: 'gpu', demands: ['git'], seconds: 600 });
  const isNow = (wanted: string) => (jobs: readonly { readonly id: number; readonly state: string }[]) =>
    jobs.some(({ id, state }) => id === job?.id && state === wanted);
  const run = startListener(folder, { detached: true });
  await fake.control.until(isNow('running'), { timeoutMs });
  process.kill(-(run.child.pid ?? 0), 'SIGKILL');
  await run.exited;
  fake.ahead = (15 * 60_000) / speed;
  const jobs = await fake.control.until(isNow('done'), { timeoutMs });
  expect(jobs.find(({ id }) => id === job?.id)).toMatchObject({
    result: 'abandoned',
    message: expect.stringMatching(/^We stopped hearing from agent gone-0\./u),
  });
  await fake.control.endSession('gone-0');
});

test('another key than the registered one is rejected', async () => {
  const first = await agents.install('key-0', version);
  await fake.control.revokeAgent('key-0');
  const run = startListener(first.folder);
  expect(await run.exited).toBe(2);
  expect(run.console()).toEqual([expect.stringMatching(/^An error occurred: /u)]);
});

test.each([
  ['a token', 'conf-pat', ['--auth', 'pat', '--token', 'good-token']],
  [
    'a service principal',
    'conf-sp',
    ['--auth', 'sp', '--clientid', 'c', '--tenantid', 't', '--clientsecret', 'good-token'],
  ],
])('config.sh registers with %s, and config.sh remove removes it', async (_, name, login) => {
  const { poolId } = await agents.install(`other-${name}`, version);
  const folder = join(fake.folder, name);
  await installAgent(folder, version);
  const args = ['--url', fake.server.organization, '--pool', 'gpu', '--agent', name, '--acceptTeeEula'];
  expect(await startProgram(folder, 'config.sh', ['--unattended', ...login, ...args]).exited).toBe(0);
  const demands = [`Agent.Name -equals ${name}`];
  const [job] = await fake.control.queue({ pool: 'gpu', demands, script: 'true' });
  expect(await startProgram(folder, 'run.sh', ['--once']).exited).toBe(0);
  expect((await fake.control.jobs()).find(({ id }) => id === job?.id)).toMatchObject({
    result: 'succeeded',
    runs: [{ agent: name }],
  });
  expect(await startProgram(folder, 'config.sh', ['remove', '--unattended', ...login]).exited).toBe(0);
  expect(await fake.client().findAgent(poolId, name)).toBeUndefined();
});

test('a rejected token registers nothing', async () => {
  const folder = join(fake.folder, 'conf-wrong');
  await installAgent(folder, version);
  const login = ['--auth', 'pat', '--token', 'wrong', '--url', fake.server.organization, '--pool', 'gpu'];
  const run = startProgram(folder, 'config.sh', ['--unattended', ...login, '--agent', 'conf-wrong']);
  expect(await run.exited).toBe(1);
  const printed = run.console().filter((line) => line !== '');
  expect(printed).toEqual(['>> Connect:', expect.stringMatching(/^VS30063: You are not authorized/u)]);
});

test('config.sh begins again, without an end, when the server refuses to replace an agent', async () => {
  await agents.install('conf-refused', version);
  const folder = join(fake.folder, 'conf-refused-again');
  await installAgent(folder, version);
  await fake.control.fail({ count: 1000, method: 'PUT', path: '/agents/\\d+$', status: 403 });
  const args = ['--auth', 'pat', '--token', 'good-token', '--url', fake.server.organization, '--pool', 'gpu'];
  const run = startProgram(folder, 'config.sh', [
    '--unattended',
    '--replace',
    '--agent',
    'conf-refused',
    ...args,
  ]);
  const told = (): number => run.console().filter((line) => line.startsWith('Failed to replace')).length;
  await expect.poll(told, { timeout: timeoutMs }).toBeGreaterThan(1);
  run.child.kill('SIGKILL');
  await run.exited;
  await fake.control.clearFaults();
  expect(run.console()).toContain('Pool gpu already contains an agent with name conf-refused.');
});
