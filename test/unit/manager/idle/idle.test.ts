// Powers off an idle machine. The daemon with a fake Azure DevOps server and a stand-in dockerd; its clock
// and the server's run ten times as fast: a machine with other work must not be idle for a minute unseen.
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
  rig = await ManagerRig.create(10);
  rig.programs.set('systemd-run', printed(''));
});
afterEach(() => rig.close());

const powerOffs = (): readonly string[] =>
  rig.hostPrograms.calls.filter((call) => call.startsWith('systemd-run'));
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

test('agents are disabled with the reason and stopped before the power-off, and enabled after a boot', async () => {
  await started();
  expect(await status()).toMatchObject(idle);
  expect(powerOffs()).toEqual([]);
  pass(600);
  await expect.poll(powerOffs).toEqual([poweroff]);
  expect([...rig.docker.containers.values()]).toEqual([]);
  const off = { enabled: false, reason: expect.stringMatching(/^powered off: idle since \d{4}-.* UTC$/) };
  expect(await inPool()).toEqual([off, off]);
  expect(await status()).toMatchObject({ ending: true });
  await rig.stop();
  await started();
  const on = { enabled: true, reason: undefined };
  expect(await inPool()).toEqual([on, on]);
});

test('a configured program powers it off instead', async () => {
  await started({ run: '/usr/local/sbin/deallocate' });
  pass(600);
  await expect
    .poll(powerOffs)
    .toEqual([poweroff.replace('systemctl poweroff', '/usr/local/sbin/deallocate')]);
});

test('a job keeps it on, and the idle time starts at its end', async () => {
  await started();
  rig.beginJob('box-0', 'train');
  await rig.until('busy', ['0']);
  pass(3600);
  // A status and a check from after that hour.
  const passed = new Date(rig.clock.wall()).toISOString();
  await expect
    .poll(async () => {
      const { at, idle: seen } = await rig.status();
      return at >= passed && (seen?.idleS ?? 3600) < 600 ? seen?.stays?.what : 'not checked yet';
    })
    .toBe('box-0 runs train');
  rig.endJob('box-0', 'train');
  await rig.until('idle');
  await expect.poll(async () => (await status())?.stays).toBeUndefined();
  expect((await status())?.idleS).toBeLessThan(600);
  expect(powerOffs()).toEqual([]);
});

test('a waiting job keeps it on, even if the organization runs none', async () => {
  await rig.control.limitJobs(0);
  await started();
  await rig.control.queue({ pool: 'gpu-lab', name: 'train', script: 'true' });
  pass(600);
  await expect.poll(stays).toBe('job train waits in pool gpu-lab');
  expect(powerOffs()).toEqual([]);
});

test('an unreadable queue keeps it on', async () => {
  await started();
  await rig.control.fail({ path: 'jobrequests', status: 500, count: 1000 });
  pass(600);
  await expect.poll(stays).toMatch(/^the queue of pool gpu-lab cannot be read: /);
  expect(powerOffs()).toEqual([]);
});

test('a long login keeps it on; a short one delays the power-off', async () => {
  await started();
  pass(500);
  rig.hostPrograms.presence = [login];
  const before = (await status())?.idleS ?? 0;
  pass(100);
  await expect.poll(stays).toBe('lab is logged in');
  expect((await status())?.idleS).toBeGreaterThanOrEqual(before);
  // Longer than a short login.
  pass(90);
  await expect.poll(async () => (await status())?.idleS).toBeLessThan(60);
  rig.hostPrograms.presence = [];
  await expect.poll(async () => (await status())?.stays).toBeUndefined();
  expect(powerOffs()).toEqual([]);
});

test('a login while its agents stop enables them again', async () => {
  await started();
  // Agents cannot be disabled, so the drain does not end.
  for (const method of ['PUT', 'PATCH'])
    await rig.control.fail({ method, path: 'agents', status: 500, count: 1000 });
  pass(600);
  await expect.poll(status).toMatchObject({ ending: true });
  rig.hostPrograms.presence = [login];
  await expect.poll(stays).toBe('lab is logged in');
  await rig.control.clearFaults();
  await rig.until('idle');
  expect(powerOffs()).toEqual([]);
  const on = { enabled: true, reason: undefined };
  await expect.poll(inPool).toEqual([on, on]);
});

test('a drained host stays on, and the status names who drained it', async () => {
  await started();
  await rig.post('/v1/drain', { slots: [], reason: 'new fan', owner: 'ann@laptop' });
  pass(3600);
  await expect.poll(stays).toBe('it is drained by ann@laptop: new fan');
  expect(powerOffs()).toEqual([]);
});

test("other users' containers keep it on", async () => {
  const notebook = newContainer('notebook', { Image: 'jupyter' });
  notebook.state = 'running';
  rig.docker.containers.set(notebook.id, notebook);
  await started();
  pass(600);
  await expect.poll(stays).toBe('container notebook is running');
  expect(powerOffs()).toEqual([]);
});

test('a failed power-off is reported, and the agents are enabled again', async () => {
  rig.programs.set('systemd-run', failed(1, 'Failed to connect to bus'));
  await started();
  pass(600);
  await expect.poll(powerOffs).toEqual([poweroff]);
  await rig.until('idle');
  const { problems } = await rig.status();
  expect(problems).toMatchObject([
    {
      code: 'idle.not-ended',
      what: expect.stringContaining('systemctl poweroff failed: Failed to connect'),
    },
  ]);
});

test('without idle: the status has no idle time', async () => {
  await rig.start();
  await rig.until('idle');
  expect(await status()).toBeUndefined();
});
