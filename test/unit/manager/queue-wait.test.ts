// How long jobs waited in the queue, by what the server shows of the agents that took them.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LiveAgents } from '../../support/live-agents.ts';
import { readExposition } from '../../support/exposition.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { freePort } from '../../support/ssh-port.ts';

let rig: ManagerRig;
let agents: LiveAgents;
let metricsPort: number;
beforeEach(async () => {
  rig = await ManagerRig.create();
  agents = new LiveAgents(rig);
  metricsPort = await freePort();
});
afterEach(() => rig.close());

const start = () => rig.start({ metricsPort, agents: { kind: 'count', count: 1 } });

/** How many waits were observed, and their sum in seconds. */
async function waits(): Promise<{ count: number; sum: number }> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const family = readExposition(text).find(({ name }) => name === 'azp_fleet_queue_wait_seconds');
  const value = (suffix: string) =>
    family?.samples.find(({ name, labels }) => name.endsWith(suffix) && labels['pool'] === 'gpu-lab')?.value;
  return { count: value('_count') ?? 0, sum: value('_sum') ?? 0 };
}

/** A job is queued, taken, and comes to its end. */
async function job(name: string): Promise<void> {
  await rig.control.queue({ pool: 'gpu-lab', name, script: 'true' });
  await rig.until('busy', ['0']);
  agents.finish('box-0');
  await rig.until('idle', ['0']);
}

test('each job that an agent took is observed once, also over restarts of the manager', async () => {
  await start();
  await rig.until('idle', ['0']);
  await job('one');
  await expect.poll(waits).toMatchObject({ count: 1 });
  await job('two');
  await expect.poll(waits).toMatchObject({ count: 2 });
  await rig.stop();
  const before = (await rig.control.requests()).at(-1)?.n ?? 0;
  await start();
  await rig.until('idle', ['0']);
  // Of a job that is there at the first look at the pool nobody knows whether it was counted before.
  const looks = async () => (await rig.control.requests(before)).map(({ query }) => query).join();
  await expect.poll(looks).toContain('demands=');
  const passes = rig.notified.length;
  await expect.poll(() => rig.notified.length).toBeGreaterThan(passes + 1);
  await job('three');
  await expect.poll(waits).toMatchObject({ count: 1 });
  expect((await waits()).sum).toBeGreaterThanOrEqual(0);
});

test('a job that goes on over a restart is counted once, by the process that sees it first', async () => {
  await start();
  await rig.until('idle', ['0']);
  await rig.control.queue({ pool: 'gpu-lab', name: 'long', script: 'true' });
  await rig.until('busy', ['0']);
  await expect.poll(waits).toMatchObject({ count: 1 });
  await rig.stop();
  await start();
  await rig.until('busy', ['0']);
  agents.finish('box-0');
  await rig.until('idle', ['0']);
  const passes = rig.notified.length;
  await expect.poll(() => rig.notified.length).toBeGreaterThan(passes + 1);
  expect(await waits()).toMatchObject({ count: 0 });
});

test('a job that waited for a drained host has waited as long as the server says', async () => {
  await start();
  await rig.until('idle', ['0']);
  await rig.post('/v1/drain', { reason: 'fan' });
  await rig.until('drained', ['0']);
  await rig.control.queue({ pool: 'gpu-lab', name: 'train', script: 'true' });
  await rig.post('/v1/undrain', {});
  await rig.until('busy', ['0']);
  agents.finish('box-0');
  await expect.poll(waits).toMatchObject({ count: 1 });
  const [job] = await rig.control.jobs();
  const waitedS = (Date.parse(job?.startedAt ?? '') - Date.parse(job?.queuedAt ?? '')) / 1000;
  // The manager may look when the agent is assigned and has not begun: the moments between are nobody's wait.
  const { sum } = await waits();
  expect(sum).toBeGreaterThan(0);
  expect(sum).toBeLessThanOrEqual(waitedS + 0.0005);
});
