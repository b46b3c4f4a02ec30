// A job that does not end on a signal. The clock is slower, because the test measures the waits between the signals.
import { expect, test } from 'vitest';
import { startListener } from '../../../support/agent/program.ts';
import { timeoutMs, useAgents, versions } from './agent-scene.ts';

const agents = useAgents(5);
const { fake } = agents;

test('a canceled job gets SIGINT, then SIGTERM, then SIGKILL', async () => {
  const agent = await agents.install('stubborn', versions[5]);
  const listener = startListener(agent.folder);
  await agents.online(agent.name);
  // A trap runs at once while the shell waits.
  const script = `trap 'echo INT' INT; trap 'echo TERM' TERM; sleep 600 & echo up\nwhile :; do wait; done`;
  const [job] = await fake.control.queue({
    pool: 'gpu',
    demands: [`Agent.Name -equals ${agent.name}`],
    script,
  });
  await expect.poll(() => fake.control.log(job?.id ?? 0), { timeout: timeoutMs }).toContain('\nup\n');
  await fake.control.cancel(job?.id ?? 0);
  expect(await listener.exited).toBe(0);
  const { log = '', result } = (await fake.control.jobs()).find(({ id }) => id === job?.id) ?? {};
  expect(result).toBe('canceled');
  expect(log.split('\n').filter((line) => /^(?:up|INT|TERM)$/u.test(line))).toEqual(['up', 'INT', 'TERM']);
});
