// A machine that ends when nobody uses it. The daemon with a fake Azure DevOps server and a stand-in dockerd; its clock
// and the server's run a hundred times as fast.
import { afterEach, beforeEach, expect, test } from 'vitest';

import type { IdleStatus } from '../../../../src/shared/contract/idle.ts';
import { newContainer } from '../../../support/docker/state.ts';
import { failed, ManagerRig, printed } from '../../../support/manager-rig.ts';

const idle = { afterS: 600, run: 'poweroff' };
const poweroff =
  'systemd-run --quiet --collect --unit=azp-fleet-idle --property=Type=oneshot -- systemctl poweroff';
const login = { key: 'session 3', kind: 'visit', what: 'lab is logged in', next: 'log out' } as const;

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  rig.programs.set('systemd-run', printed(''));
});
afterEach(() => rig.close());

const told = (): readonly string[] => rig.hostPrograms.calls.filter((call) => call.startsWith('systemd-run'));
const status = async (): Promise<IdleStatus | undefined> => (await rig.status()).idle;
const stays = async (): Promise<string | undefined> => (await status())?.stays?.what;
const pass = (seconds: number): void => void (rig.clock.passed += rig.clock.scaled(seconds * 1000));
const inPool = async () =>
  (await rig.azure.listAgents(rig.poolId)).map(({ enabled, userCapabilities = {} }) => ({
    enabled,
    reason: userCapabilities['azp-fleet.disabled'],
  }));

async function started(changes: Partial<typeof idle> = {}): Promise<void> {
  await rig.start({ idle: { ...idle, ...changes } });
  await rig.until('idle');
}

test('its agents are disabled and gone before it ends; they say why in the pool, and work again after a boot', async () => {
  await started();
  expect(await status()).toMatchObject(idle);
  expect(told()).toEqual([]);
  pass(600);
  await expect.poll(told, { timeout: 20_000 }).toEqual([poweroff]);
  expect([...rig.docker.containers.values()]).toEqual([]);
  const off = { enabled: false, reason: expect.stringMatching(/^powered off: idle since \d{4}-.* UTC$/) };
  expect(await inPool()).toEqual([off, off]);
  expect(await status()).toMatchObject({ ending: true });
  await rig.stop();
  await started();
  const on = { enabled: true, reason: undefined };
  expect(await inPool()).toEqual([on, on]);
});

test('a program of the owner ends it instead', async () => {
  await started({ run: '/usr/local/sbin/deallocate' });
  pass(600);
  await expect
    .poll(told, { timeout: 20_000 })
    .toEqual([poweroff.replace('systemctl poweroff', '/usr/local/sbin/deallocate')]);
});

test('a job keeps it on, and the idle time starts at its end', async () => {
  await started();
  rig.beginJob('box-0', 'train');
  await rig.until('busy', ['0']);
  pass(3600);
  await expect.poll(stays).toBe('box-0 runs train');
  rig.endJob('box-0', 'train');
  await rig.until('idle');
  await expect.poll(async () => (await status())?.stays).toBeUndefined();
  expect((await status())?.idleS).toBeLessThan(600);
  expect(told()).toEqual([]);
});

test('a job that waits keeps it on, though the organization lets none run', async () => {
  await rig.control.limitJobs(0);
  await started();
  await rig.control.queue({ pool: 'gpu-lab', name: 'train', script: 'true' });
  pass(600);
  await expect.poll(stays, { timeout: 20_000 }).toBe('job train waits in pool gpu-lab');
  expect(told()).toEqual([]);
});

test('the queue cannot be read: it stays on', async () => {
  await started();
  await rig.control.fail({ path: 'jobrequests', status: 500, count: 1000 });
  pass(600);
  await expect.poll(stays, { timeout: 20_000 }).toMatch(/^the queue of pool gpu-lab cannot be read: /);
  expect(told()).toEqual([]);
});

test('a login keeps it on; who only looks does not, but no machine ends under them', async () => {
  await started();
  pass(500);
  rig.hostPrograms.presence = [login];
  const before = (await status())?.idleS ?? 0;
  pass(100);
  await expect.poll(stays, { timeout: 20_000 }).toBe('lab is logged in');
  expect((await status())?.idleS).toBeGreaterThanOrEqual(before);
  // More than the minute of a visit.
  pass(90);
  await expect.poll(async () => (await status())?.idleS).toBeLessThan(60);
  rig.hostPrograms.presence = [];
  await expect.poll(async () => (await status())?.stays).toBeUndefined();
  expect(told()).toEqual([]);
});

test('a login while its agents stop enables them again', async () => {
  await started();
  // They cannot be disabled, so that they stay on their way.
  for (const method of ['PUT', 'PATCH'])
    await rig.control.fail({ method, path: 'agents', status: 500, count: 1000 });
  pass(600);
  await expect.poll(status, { timeout: 20_000 }).toMatchObject({ ending: true });
  rig.hostPrograms.presence = [login];
  await expect.poll(stays, { timeout: 20_000 }).toBe('lab is logged in');
  await rig.control.clearFaults();
  await rig.until('idle');
  expect(told()).toEqual([]);
  const on = { enabled: true, reason: undefined };
  await expect.poll(inPool).toEqual([on, on]);
});

test('what a person drains stays on, and says by whom', async () => {
  await started();
  await rig.post('/v1/drain', { slots: [], reason: 'new fan', owner: 'ann@laptop' });
  pass(3600);
  await expect.poll(stays).toBe('it is drained by ann@laptop: new fan');
  expect(told()).toEqual([]);
});

test("others' containers keep it on", async () => {
  const notebook = newContainer('notebook', { Image: 'jupyter' });
  notebook.state = 'running';
  rig.docker.containers.set(notebook.id, notebook);
  await started();
  pass(600);
  await expect.poll(stays, { timeout: 20_000 }).toBe('container notebook is running');
  expect(told()).toEqual([]);
});

test('a machine that cannot be ended says so, and its agents work again', async () => {
  rig.programs.set('systemd-run', failed(1, 'Failed to connect to bus'));
  await started();
  pass(600);
  await expect.poll(told, { timeout: 20_000 }).toEqual([poweroff]);
  await rig.until('idle');
  const { problems } = await rig.status();
  expect(problems).toMatchObject([
    {
      code: 'idle.not-ended',
      what: expect.stringContaining('systemctl poweroff failed: Failed to connect'),
    },
  ]);
});

test('without idle: nothing is counted', async () => {
  await rig.start();
  await rig.until('idle');
  expect(await status()).toBeUndefined();
});
