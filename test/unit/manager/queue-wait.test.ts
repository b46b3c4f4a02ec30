// The queue wait of jobs, from the requests of the agents that ran them.
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

/** Returns the number of counted waits, and their sum in seconds. */
async function waits(): Promise<{ count: number; sum: number }> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const family = readExposition(text).find(({ name }) => name === 'azp_fleet_queue_wait_seconds');
  const value = (suffix: string) =>
    family?.samples.find(({ name, labels }) => name.endsWith(suffix) && labels['pool'] === 'gpu-lab')?.value;
  return { count: value('_count') ?? 0, sum: value('_sum') ?? 0 };
}

/** Queues a job, and runs it to its end. */
async function job(name: string): Promise<void> {
  await rig.control.queue({ pool: 'gpu-lab', name, script: 'true' });
  await rig.until('busy', ['0']);
  agents.finish('box-0');
  await rig.until('idle', ['0']);
}

test('each job is counted once, also over restarts of the manager', async () => {
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
  // A job in the first list of the pool may have been counted before.
  const requests = async () => (await rig.control.requests(before)).map(({ query }) => query).join();
  await expect.poll(requests).toContain('demands=');
  const passes = rig.notified.length;
  await expect.poll(() => rig.notified.length).toBeGreaterThan(passes + 1);
  await job('three');
  await expect.poll(waits).toMatchObject({ count: 1 });
  expect((await waits()).sum).toBeGreaterThanOrEqual(0);
});

test('a job that runs during a restart is counted once, by the first process that observes it', async () => {
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

test('the wait of a job for a drained host is the one that the server shows', async () => {
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
  // The manager may check between the assignment and the start of the job: that time does not count.
  const { sum } = await waits();
  expect(sum).toBeGreaterThan(0);
  expect(sum).toBeLessThanOrEqual(waitedS + 0.0005);
});
