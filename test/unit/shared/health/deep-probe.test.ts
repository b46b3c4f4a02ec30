import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { probeHost } from '../../../../src/shared/health/probe.ts';

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const [first = '', second = ''] = [...healthy.matchAll(/<uuid>(GPU-[^<]+)</g)].map(([, uuid = '']) => uuid);
const passed = `azp-fleet: deep kernel
azp-fleet: deep memory 0 ffffffffffffffff
azp-fleet: deep memory 0 ffffffffffffffff
azp-fleet: deep done 1073741824
azp-fleet: deep exit 0
`;

/** Probes a host; returns the devices and deadline of each container, and the findings. */
async function probed(
  smi: { readonly code: number; readonly output: string },
  busy: (uuid: string) => string | undefined,
) {
  const containers: unknown[] = [];
  const engine: Pick<Engine, 'imageId' | 'listOwn' | 'version' | 'info' | 'run'> = {
    imageId: async (id) => id,
    listOwn: async () => [],
    version: async () => ({ version: '29.2.0' }) as Awaited<ReturnType<Engine['version']>>,
    info: async () =>
      ({ cdiSpecDirs: ['/etc/cdi'], now: 0 }) as unknown as Awaited<ReturnType<Engine['info']>>,
    run: async (_, { HostConfig, Entrypoint = [] }, deadlineMs) => {
      const [request] = HostConfig?.DeviceRequests ?? [];
      containers.push([request?.DeviceIDs, HostConfig?.NetworkMode, deadlineMs]);
      const isDeep = String(Entrypoint[2]).includes('azp-fleet: deep');
      return { code: 0, output: passed, timedOut: false, isCut: false, ...(isDeep ? {} : smi) };
    },
  };
  const { findings } = await probeHost(engine as Engine, {
    name: 'azp-fleet-probe-box',
    host: 'box',
    images: ['agent:1'],
    cdiSpec: true,
    expected: { pci: ['0000:83:00.0', '0000:84:00.0'] },
    hostSide: { kind: 'value', value: { driverVersion: '595.84', gpus: [] } },
    deep: async ({ uuid }) => busy(uuid),
  });
  const deep = findings.filter(({ code }) => code.startsWith('deep.'));
  return { containers, deep: deep.map(({ code, gpu, what }) => [code, gpu, what] as const) };
}

test('each GPU that nobody has is tested in a container with only this GPU', async () => {
  const { containers, deep } = await probed({ code: 0, output: healthy }, (uuid) =>
    uuid === first ? 'box-0 runs train on it' : undefined,
  );
  expect(containers).toEqual([
    [['nvidia.com/gpu=all'], 'none', 60_000],
    [[`nvidia.com/gpu=${second}`], 'none', 40_000],
  ]);
  expect(deep).toEqual([
    ['deep.skipped', first, 'not tested by the deep check: box-0 runs train on it'],
    [
      'deep.passed',
      second,
      'deep check passed: a kernel returned its 256 values, and 1024 MiB of memory kept theirs',
    ],
  ]);
});

test('without a report no GPU is tested, and that is no pass', async () => {
  const { containers, deep } = await probed({ code: 9, output: 'NVIDIA-SMI has failed' }, () => undefined);
  expect(containers).toHaveLength(1);
  expect(deep).toEqual([
    ['deep.skipped', undefined, 'not tested by the deep check: nvidia-smi gave no report in the container'],
  ]);
});
