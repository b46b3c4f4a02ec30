// A job with a copy of its agent's key publishes thousands of capabilities; the other slots serve on.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManagerRig } from '../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Three times what the manager reads of one agent; reader-bounds.test.ts has 5 MB of them. */
const capabilities = 30_000;

test('a job that publishes thousands of capabilities loses its key at its end, and its slot serves again', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  const before = await rig.azure.findAgent(rig.poolId, 'box-0');
  await rig.control.publishCapabilities('box-0', capabilities);
  rig.endJob('box-0');
  await rig.until('idle');
  const after = await rig.azure.findAgent(rig.poolId, 'box-0');
  expect(after?.id).toBe(before?.id);
  expect(Object.keys(after?.systemCapabilities ?? {}).length).toBeLessThan(100);
  expect((await rig.status()).problems).toEqual([]);
});

test.each([
  ['', false],
  [', also by a manager that was restarted during the job', true],
])('it loses its key later if the server has trouble at its end%s', async (_, isRestarted) => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  if (isRestarted) {
    await rig.stop();
    await rig.start();
    await rig.until('busy', ['0']);
  }
  await rig.control.publishCapabilities('box-0', capabilities);
  await rig.control.fail({ status: 203, count: 1_000_000 });
  rig.endJob('box-0');
  await expect.poll(async () => (await rig.slot('0')).code).toBe('azure.auth');
  await rig.control.clearFaults();
  await rig.until('idle');
  const after = await rig.azure.findAgent(rig.poolId, 'box-0');
  expect(Object.keys(after?.systemCapabilities ?? {}).length).toBeLessThan(100);
});

test('a slot whose agent has thousands of capabilities waits with the cause; the others take jobs', async () => {
  await rig.start();
  await rig.until('idle');
  await rig.stop();
  await rig.control.publishCapabilities('box-0', capabilities);
  // Without its container the run's registration is not known.
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  rig.docker.containers.delete(id);
  await rig.start();
  await expect
    .poll(() => rig.slot('0').catch(() => undefined))
    .toMatchObject({
      state: 'waiting',
      code: 'agent.too-long',
      next: expect.stringContaining('delete the agent'),
    });
  rig.beginJob('box-1');
  await rig.until('busy', ['1']);
  rig.endJob('box-1');
  await rig.until('idle', ['1']);
  const agent = await rig.azure.findAgent(rig.poolId, 'box-0', { capabilities: false });
  await rig.azure.deleteAgent(rig.poolId, agent?.id ?? 0);
  await rig.until('idle');
});
