// Agents that have finished their job and do not exit, because a process hangs. The daemon over real
// sockets; five minutes are 0.6 s.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create(500);
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
/** Ends the job of the slot's agent, but not its container. */
async function hang(): Promise<string> {
  await rig.start(one);
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.docker.say('box-0', '2026-11-21 02:00:02Z: Job train completed with result: Succeeded');
  return rig.docker.get('box-0')?.id ?? '';
}

test('the container is stopped, its job keeps its result, and the slot continues', async () => {
  const id = await hang();
  await expect.poll(() => rig.docker.get('box-0')?.id === id).toBe(false);
  await rig.until('idle', ['0']);
  const [run] = JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs?slot=0' })) as RunRecord[];
  expect(run).toMatchObject({
    job: 'train',
    result: 'succeeded',
    cause: { code: 'run.does-not-end' },
  });
});

fault(
  'container-hangs',
  'while it cannot be stopped, the status shows the next action, and a drain waits for it',
  async () => {
    rig.docker.faults.push({
      path: /\/stop/u,
      status: 500,
      message: 'tried to kill container, but did not receive an exit event',
      times: Number.POSITIVE_INFINITY,
    });
    const id = await hang();
    await expect.poll(async () => (await rig.slot('0')).code).toBe('run.does-not-end');
    const slot = await rig.slot('0');
    expect(slot.cause).toContain('did not receive an exit event');
    expect(slot.next).toContain('azp-fleet reboot');
    expect(rig.docker.get('box-0')?.id).toBe(id);
    await rig.post('/v1/drain', { reason: 'reboot', owner: 'ann@laptop' });
    rig.docker.faults.length = 0;
    await rig.until('drained', ['0']);
    expect(rig.docker.get('box-0')).toBeUndefined();
  },
);
