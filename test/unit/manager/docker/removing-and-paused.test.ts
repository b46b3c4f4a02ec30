// Containers that Docker is removing, or that are paused. The daemon with a stand-in dockerd; two minutes are 0.24 s.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import type { RunRecord } from '../../../../src/shared/contract/status.ts';
import { ask } from '../../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create(500);
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;

const runs = async (): Promise<readonly RunRecord[]> =>
  JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs?slot=0' })) as RunRecord[];

const requests = (id: string, method: string, verb: string): number =>
  rig.docker.calls.filter((call) => call.method === method && call.path === `/containers/${id}${verb}`)
    .length;

/** Makes the manager check the slots this many times. */
async function checks(count: number): Promise<void> {
  const passes = (): number => rig.notified.filter((each) => each === 'alive').length;
  for (let made = 0; made < count; made += 1) {
    const before = passes();
    await rig.post('/v1/undrain', {});
    await expect.poll(passes).toBeGreaterThan(before);
  }
}

/** Starts the manager and a job of slot 0; returns the container's id. */
async function busy(changes: Partial<ManagerConfig> = {}): Promise<string> {
  await rig.start({ ...one, ...changes });
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  return rig.docker.get('box-0')?.id ?? '';
}

describe('a removal that is in progress', () => {
  test('is awaited: the run is collected once, and the next agent starts when the container is gone', async () => {
    const id = await busy();
    rig.clock.speed = 1;
    rig.docker.beginRemoval('box-0');
    const before = (await rig.control.requests()).at(-1)?.n ?? 0;
    rig.endJob('box-0');
    await expect.poll(runs).toHaveLength(1);
    await checks(8);
    expect(requests(id, 'DELETE', '')).toBe(1);
    const newKeys = (await rig.control.requests(before)).filter(
      ({ method, path }) => method === 'PUT' && /\/agents\/\d+$/.test(path),
    );
    expect(newKeys).toHaveLength(1);
    rig.docker.endRemoval('box-0');
    await rig.until('idle', ['0']);
    expect(await rig.slot('0')).toMatchObject({ jobsRun: 1 });
    expect(await runs()).toMatchObject([{ job: 'train', result: 'succeeded' }]);
  });

  test('does not replace the record of a collected run, nor blame the image', async () => {
    const id = await busy();
    const removal = new RegExp(`^DELETE /containers/${id}$`);
    rig.docker.fail(removal, 500, 'device or resource busy', Number.POSITIVE_INFINITY);
    rig.endJob('box-0');
    await expect.poll(runs).toHaveLength(1);
    const [whole] = await runs();
    expect(whole?.log.at(-1)).toContain('Job train completed with result: Succeeded');
    await rig.stop();
    const asked = requests(id, 'DELETE', '');
    rig.docker.faults.length = 0;
    rig.docker.beginRemoval('box-0');
    await rig.start(one);
    await expect.poll(() => requests(id, 'DELETE', '')).toBeGreaterThan(asked);
    await checks(3);
    expect(await runs()).toEqual([whole]);
    rig.docker.endRemoval('box-0');
    await rig.until('idle', ['0']);
    expect((await rig.status()).problems).toEqual([]);
    expect(await rig.slot('0')).not.toHaveProperty('cause');
  });

  test('of a run that no manager followed counts neither against the image nor as a run without a job', async () => {
    const id = await busy();
    await rig.stop();
    rig.docker.end('box-0', 127);
    rig.docker.beginRemoval('box-0');
    await rig.start(one);
    await expect.poll(() => requests(id, 'DELETE', '')).toBeGreaterThan(0);
    await expect.poll(runs).toMatchObject([{ cause: { code: 'run.output-lost' } }]);
    rig.docker.endRemoval('box-0');
    await rig.until('idle', ['0']);
  });

  test.each(['removed', 'failed'] as const)(
    'that hangs is reported, tried again, and over when Docker has %s it',
    async (how) => {
      const id = await busy();
      rig.docker.beginRemoval('box-0', 'removing');
      await expect.poll(async () => (await rig.slot('0')).code).toBe('container.stuck');
      const slot = await rig.slot('0');
      expect(slot).toMatchObject({ state: 'waiting', container: id.slice(0, 12) });
      expect(slot.cause).toContain('box-0');
      expect(slot.next).toContain('systemctl restart docker');
      // The first was for the collected run.
      await expect.poll(() => requests(id, 'DELETE', '')).toBeGreaterThan(1);
      expect(await runs()).toHaveLength(1);
      rig.docker.endRemoval('box-0', how);
      await rig.until('idle', ['0']);
      expect(rig.docker.containers.has(id)).toBe(false);
    },
  );

  test('that hangs on a drained slot keeps the slot draining, and is named beside the drain', async () => {
    await busy();
    await rig.post('/v1/drain', { reason: 'new fan', owner: 'ann@laptop' });
    rig.docker.beginRemoval('box-0', 'removing');
    await expect.poll(async () => (await rig.slot('0')).cause ?? '').toContain('Docker has been removing');
    expect(await rig.slot('0')).toMatchObject({ state: 'stopping', code: 'drained' });
    rig.docker.endRemoval('box-0');
    await rig.until('drained', ['0']);
  });
});

describe('a paused container', () => {
  test('with a job is left alone and reported; unpaused, its job ends as any other', async () => {
    const id = await busy();
    rig.docker.pause('box-0');
    await expect.poll(async () => (await rig.slot('0')).code).toBe('container.stuck');
    const slot = await rig.slot('0');
    expect(slot).toMatchObject({ state: 'busy', job: 'train' });
    expect(slot.next).toContain('docker unpause box-0');
    await checks(3);
    expect(rig.docker.get('box-0')).toMatchObject({ id, state: 'paused' });
    expect(requests(id, 'POST', '/stop')).toBe(0);
    rig.docker.pause('box-0', false);
    await expect.poll(async () => (await rig.slot('0')).code).toBeUndefined();
    rig.endJob('box-0');
    await rig.until('idle', ['0']);
    expect(await runs()).toMatchObject([{ job: 'train', result: 'succeeded' }]);
  });

  test('with a job keeps a machine on that powers off when it is idle', async () => {
    await busy({ idle: { afterS: 86_400, run: 'poweroff' } });
    const stays = async (): Promise<string> => (await rig.status()).idle?.stays?.what ?? '';
    await expect.poll(stays).toContain('train');
    rig.docker.pause('box-0');
    await expect.poll(async () => (await rig.slot('0')).code).toBe('container.stuck');
    await checks(3);
    expect(await stays()).toContain('train');
  });

  test('with a job is followed by the next manager', async () => {
    const id = await busy();
    await rig.stop();
    rig.docker.pause('box-0');
    await rig.start(one);
    await rig.until('busy', ['0']);
    expect(rig.docker.get('box-0')?.id).toBe(id);
  });

  test('without a job is replaced', async () => {
    await rig.start(one);
    await rig.until('idle', ['0']);
    const id = rig.docker.get('box-0')?.id ?? '';
    rig.docker.pause('box-0');
    await expect.poll(() => rig.docker.containers.has(id)).toBe(false);
    await rig.until('idle', ['0']);
    expect(await runs()).toMatchObject([{ cause: { code: 'container.stuck' } }]);
    expect((await rig.status()).problems).toEqual([]);
  });

  test('is left alone for two minutes, as `docker commit` pauses it', async () => {
    rig.clock.speed = 1;
    await rig.start(one);
    await rig.until('idle', ['0']);
    const id = rig.docker.get('box-0')?.id;
    rig.docker.pause('box-0');
    await expect.poll(async () => (await rig.slot('0')).state).toBe('starting');
    expect((await rig.slot('0')).code).toBeUndefined();
    rig.docker.pause('box-0', false);
    await rig.until('idle', ['0']);
    expect(rig.docker.get('box-0')?.id).toBe(id);
  });
});
