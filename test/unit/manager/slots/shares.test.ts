import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import type { SlotSpec } from '../../../../src/shared/contract/slots.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const gib = 1024 ** 3;
const slots = (...all: readonly Partial<SlotSpec>[]): Partial<ManagerConfig> => ({
  agents: {
    kind: 'slots',
    slots: all.map((own) => ({
      gpus: [],
      share: false,
      limits: {},
      capabilities: [],
      mode: 'container',
      ...own,
    })),
  },
});
const limitsOf = (name: string) => {
  const { Memory, MemorySwap, CpuShares, NanoCpus, StorageOpt } = rig.docker.get(name)?.body.HostConfig ?? {};
  return { Memory, MemorySwap, CpuShares, NanoCpus, StorageOpt };
};

test('each slot has its share of the machine, and the status shows it', async () => {
  await rig.start();
  await rig.until('idle');
  expect(limitsOf('box-0')).toMatchObject({ Memory: 60 * gib, MemorySwap: 60 * gib, CpuShares: 1024 });
  expect((await rig.status()).slots.map(({ share }) => share)).toEqual([
    { memoryMiB: 60 * 1024, cpuShares: 1024 },
    { memoryMiB: 60 * 1024, cpuShares: 1024 },
  ]);
});

test("a slot's own limits have priority, and do not change the others", async () => {
  await rig.start(slots({ limits: { memory: '100g', cpus: 48 } }, {}));
  await rig.until('idle');
  expect(limitsOf('box-0')).toMatchObject({ Memory: 100 * gib, CpuShares: 1536 });
  expect(limitsOf('box-1')).toMatchObject({ Memory: 60 * gib, CpuShares: 1024 });
});

test('CPUs are never capped', async () => {
  await rig.start({ limits: { cpus: 4 } });
  await rig.until('idle');
  expect(limitsOf('box-0').NanoCpus).toBeUndefined();
});

test('no memory limit if the memory of the machine is unknown', async () => {
  rig.machine = { memoryMiB: 0, cpus: 0 };
  await rig.start();
  await rig.until('idle');
  expect(limitsOf('box-0').Memory).toBeUndefined();
  expect((await rig.slot('0')).share).toEqual({ cpuShares: 1024 });
});

test('limits.disk is enforced if the storage supports it', async () => {
  rig.docker.storesSizes = true;
  await rig.start({ limits: { disk: '200g' } });
  await rig.until('idle');
  expect(limitsOf('box-0').StorageOpt).toEqual({ size: String(200 * gib) });
  expect((await rig.status()).health.findings).toEqual([]);
});

test('if the storage does not support limits.disk, agents run without it, and the status reports it once', async () => {
  await rig.start({ limits: { disk: '200g' } });
  await rig.until('idle');
  expect(limitsOf('box-0').StorageOpt).toBeUndefined();
  const { health, problems } = await rig.status();
  expect(problems).toEqual([]);
  expect(health.findings).toMatchObject([
    {
      code: 'slot.no-size-limit',
      severity: 'warn',
      what: "limits.disk is not enforced (0, 1): --storage-opt is supported only for overlay over xfs with 'pquota' mount option",
      next: 'remove limits.disk from the inventory, or put the root directory of Docker on xfs with the mount option pquota',
    },
  ]);
  const creations = (): number => rig.docker.calls.filter(({ path }) => path === '/containers/create').length;
  const before = creations();
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  await expect.poll(creations).toBeGreaterThan(before);
  await rig.until('idle');
  // A refused option is not sent again.
  expect(creations()).toBe(before + 1);
});

test('limits.disk is not sent to the containerd image store', async () => {
  rig.docker.storesSizes = true;
  rig.docker.driverStatus = [['driver-type', 'io.containerd.snapshotter.v1']];
  await rig.start({ limits: { disk: '200g' } });
  await rig.until('idle');
  expect(limitsOf('box-0').StorageOpt).toBeUndefined();
  expect((await rig.status()).health.findings[0]?.what).toBe(
    'limits.disk is not enforced (0, 1): its containerd image store does not support size limits',
  );
});
