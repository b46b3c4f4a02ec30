// What an agent does on a request to update itself: the stand-in against the practice server, as observed on the real
// one (run on .NET 10). Packages and archives are answered by the front; HTTP, processes and tar are real.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { installAgent } from '../../../../practice/agent/pack.ts';
import { startListener, startProgram, type InstalledAgent } from '../../../support/agent/program.ts';
import { listening, timeoutMs, useAgents, versions } from './agent-scene.ts';

const agents = useAgents(100);
const { fake } = agents;
const said = ['Agent update in progress, do not shutdown agent.', 'Downloading 5.999.0 agent'];
const exits = [
  'Waiting for current job finish running.',
  'Generate and execute update script.',
  'Agent will exit shortly for update, should back online within 10 seconds.',
];
const ran = ['TIME: Running job: train', 'TIME: Job train completed with result: Succeeded'];

afterEach(() => {
  agents.front.answer = () => undefined;
});

/** Waits until the agent has received the server's message. */
async function askToUpdate({ poolId, agentId }: InstalledAgent): Promise<void> {
  const url = `${fake.server.organization}/_apis/distributedtask/pools/${poolId}/messages?agentId=${agentId}&api-version=7.1`;
  const headers = { authorization: `Basic ${Buffer.from(':good-token').toString('base64')}` };
  await fetch(url, { method: 'POST', headers });
  const isTaken = (): boolean =>
    agents.front.sent.some(
      ({ method, url: at, status }) => method === 'DELETE' && at.includes('/messages/') && status === 204,
    );
  await expect.poll(isTaken, { timeout: timeoutMs }).toBe(true);
}

const offer = (minor: number) => ({
  version: { major: 5, minor, patch: 0 },
  downloadUrl: `${agents.front.origin}/newer.tar.gz`,
});
test.each([
  ['no newer version exists', 279, []],
  ['the download fails', 999, said],
])('an update request when %s: the agent continues', async (_, minor, more) => {
  const agent = await agents.install(`update-${more.length}`, versions[5]);
  agents.front.sent.length = 0;
  agents.front.answer = ({ url }) => {
    if (url.includes('/packages/')) return { status: 200, content: JSON.stringify(offer(minor)) };
    return url.endsWith('/newer.tar.gz') ? { status: 404, content: '' } : undefined;
  };
  const listener = startListener(agent.folder);
  await agents.online(agent.name);
  await askToUpdate(agent);
  await expect.poll(() => listener.console(), { timeout: timeoutMs }).toEqual([...listening, ...more]);
  listener.child.kill('SIGINT');
  expect(await listener.exited).toBe(0);
});

test('a job that arrives during a download waits; when the download fails, the agent runs it', async () => {
  const agent = await agents.install('update-held', versions[5]);
  const download = Promise.withResolvers<{ status: number; content: string }>();
  agents.front.answer = ({ url }) => {
    if (url.includes('/packages/')) return { status: 200, content: JSON.stringify(offer(999)) };
    return url.endsWith('/newer.tar.gz') ? download.promise : undefined;
  };
  const listener = startListener(agent.folder);
  await agents.online(agent.name);
  await askToUpdate(agent);
  await expect.poll(() => listener.console(), { timeout: timeoutMs }).toEqual([...listening, ...said]);
  const received = (): number =>
    agents.front.sent.filter(
      ({ method, url, status }) => method === 'GET' && url.includes('/messages?') && status === 200,
    ).length;
  const before = received();
  const demands = [`Agent.Name -equals ${agent.name}`];
  await fake.control.queue({ pool: 'gpu', name: 'train', demands, script: 'true' });
  await expect.poll(received, { timeout: timeoutMs }).toBeGreaterThan(before);
  expect(listener.console()).toEqual([...listening, ...said]);
  download.resolve({ status: 404, content: '' });
  expect(await listener.exited).toBe(0);
  expect(listener.console()).toEqual([...listening, ...said, ...ran]);
});

/** Returns a newer agent, as the server offers it: the same programs with another version. */
async function newerAgent(folder: string): Promise<Buffer> {
  await installAgent(folder, '5.999.0');
  return execFileSync('tar', ['-C', folder, '-czf', '-', '.']);
}

test('a newer package: the listener ends with 4; under run.sh the new version takes the job', async () => {
  const archive = await newerAgent(join(fake.folder, 'newer'));
  agents.front.answer = ({ url }) => {
    if (url.includes('/packages/')) return { status: 200, content: JSON.stringify(offer(999)) };
    return url.endsWith('/newer.tar.gz') ? { status: 200, content: archive } : undefined;
  };
  for (const [program, args, ends] of [
    ['bin/Agent.Listener', ['run', '--once'], 4],
    ['run.sh', ['--once'], 0],
  ] as const) {
    const agent = await agents.install(`newer-${ends}`, versions[5]);
    const started = startProgram(agent.folder, program, args);
    await agents.online(agent.name);
    await askToUpdate(agent);
    const demands = [`Agent.Name -equals ${agent.name}`];
    if (ends === 0)
      await fake.control.queue({ pool: 'gpu', name: 'train', demands, script: 'echo "by $AGENT_VERSION"' });
    expect(await started.exited).toBe(ends);
    const after = ends === 4 ? [] : [...listening, ...ran];
    expect(started.console()).toEqual([...listening, ...said, ...exits, ...after]);
    if (ends === 0) expect((await fake.control.jobs()).at(-1)?.log).toBe('by 5.999.0\n');
  }
});
