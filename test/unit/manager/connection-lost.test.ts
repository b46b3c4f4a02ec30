import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ManagerStatus } from '../../../src/shared/contract/status.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

let rig: ManagerRig;
let isCut: boolean;
let attempts: number;

beforeEach(async () => {
  rig = await ManagerRig.create();
  isCut = false;
  attempts = 0;
  // The test of the connection runs on real time, and its waits are the only ones as long as this.
  const { wait, scaled } = rig.clock;
  vi.spyOn(rig.clock, 'wait').mockImplementation((ms, signal) =>
    wait(scaled(ms) > 5_000 ? ms / 100 : ms, signal),
  );
  rig.connect = () => {
    attempts += 1;
    return isCut ? Promise.reject(new Error('connect EHOSTUNREACH 192.0.2.1:443')) : Promise.resolve();
  };
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rig.close();
});

const written = (): ManagerStatus =>
  JSON.parse(readFileSync(join(rig.directory, 'status.json'), 'utf8')) as ManagerStatus;
const codes = ({ problems }: ManagerStatus): readonly string[] => problems.map(({ code }) => code);

fault(
  'connection-lost',
  'a lost connection is a problem while it lasts, in the status file at once, and stops no agent',
  async () => {
    await rig.start();
    await rig.until('idle');
    await expect.poll(() => written().connection?.checkedAt).toBeDefined();
    expect(codes(written())).toEqual([]);
    isCut = true;
    await expect.poll(() => codes(written())).toEqual(['azure.no-connection']);
    expect(written().connection).toMatchObject({
      to: new URL(rig.fake.origin).host,
      failingSince: expect.any(String) as string,
      why: 'connect EHOSTUNREACH 192.0.2.1:443',
    });
    await rig.until('idle');
    isCut = false;
    await expect.poll(() => codes(written())).toEqual([]);
  },
);

test('a lost connection is reported once, although the pools cannot be read either', async () => {
  await rig.start();
  await rig.until('idle');
  isCut = true;
  await rig.control.fail({ count: 10_000, drop: 'before' });
  await rig.post('/v1/drain', { slots: ['0'], reason: 'test', owner: 'ann' });
  await expect.poll(async () => (await rig.status()).pools[0]?.up).toBe(false);
  await expect.poll(async () => codes(await rig.status())).toEqual(['azure.no-connection']);
  await rig.control.clearFaults();
  isCut = false;
  await expect.poll(async () => codes(await rig.status())).toEqual([]);
});

test('connectivityCheck: off makes no connection and reports none', async () => {
  await rig.start({ connectivityCheck: 'off' });
  await rig.until('idle');
  expect(attempts).toBe(0);
  expect((await rig.status()).connection).toBeUndefined();
});
