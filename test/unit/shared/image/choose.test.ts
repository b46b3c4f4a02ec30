import fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  bases,
  chooseBase,
  compareVersions,
  cudaOfDriver,
  type HostGpus,
} from '../../../../src/shared/image/choose.ts';

const host = (cudaMax: string | undefined, capabilities: readonly string[], arch = 'x86_64'): HostGpus => ({
  arch,
  cudaMax,
  capabilities,
  cpuOnly: false,
});

test.each<[string, HostGpus, string]>([
  ['H200, driver 595', host('13.2', ['9.0']), 'nvidia/cuda:13.2.1-base-ubuntu24.04'],
  ['L40S, driver 580', host('13.0', ['8.9']), 'nvidia/cuda:13.0.3-base-ubuntu24.04'],
  ['a driver newer than every image', host('14.1', ['9.0']), 'nvidia/cuda:13.3.1-base-ubuntu24.04'],
  ['Volta with CUDA 12', host('13.0', ['7.0']), 'nvidia/cuda:12.9.1-base-ubuntu24.04'],
  ['the oldest GPU decides', host('13.0', ['6.1', '8.9']), 'nvidia/cuda:12.9.1-base-ubuntu24.04'],
  ['Blackwell, arm64', host('12.8', ['10.0'], 'aarch64'), 'nvidia/cuda:12.8.2-base-ubuntu24.04'],
  ['driver 535', host('12.2', ['8.0']), 'nvidia/cuda:12.2.2-base-ubuntu22.04'],
  ['driver 565: no image of exactly this CUDA', host('12.7', ['8.0']), 'nvidia/cuda:12.6.3-base-ubuntu24.04'],
  ['unknown capability', host('12.4', []), 'nvidia/cuda:12.4.1-base-ubuntu22.04'],
  ['no GPU', { arch: 'aarch64', cudaMax: undefined, capabilities: [], cpuOnly: true }, 'ubuntu:24.04'],
])('%s', (_, gpus, tag) => {
  expect(chooseBase(gpus)).toMatchObject({ ok: true, tag });
});

test.each<[string, HostGpus, string]>([
  [
    'Blackwell with an old driver',
    host('12.6', ['12.0']),
    'CUDA up to 12.6, the GPUs have compute capability 12.0',
  ],
  ['a very old driver', host('11.4', ['7.5']), 'CUDA up to 11.4'],
  ['POWER', host('12.4', [], 'ppc64le'), 'architecture ppc64le'],
  ['no CUDA version from the driver', host(undefined, ['8.0']), 'does not report'],
])('none fits: %s', (_, gpus, what) => {
  expect(chooseBase(gpus)).toMatchObject({
    ok: false,
    what: expect.stringContaining(what),
    next: expect.stringMatching(/./),
  });
});

test('the image never needs a newer driver, and supports every GPU', () => {
  const capability = fc.constantFrom('5.2', '6.0', '7.0', '7.5', '8.0', '8.9', '9.0', '10.0', '12.0');
  const cuda = fc
    .tuple(fc.integer({ min: 10, max: 14 }), fc.integer({ min: 0, max: 9 }))
    .map(([a, b]) => `${a}.${b}`);
  fc.assert(
    fc.property(cuda, fc.array(capability, { maxLength: 4 }), (cudaMax, capabilities) => {
      const choice = chooseBase(host(cudaMax, capabilities));
      if (!choice.ok) return;
      const release = bases.cuda.find(({ version }) => choice.tag.includes(version));
      expect(compareVersions(choice.cuda ?? '99', cudaMax)).toBeLessThanOrEqual(0);
      for (const cc of capabilities)
        expect(compareVersions(cc, release?.minCc ?? '99')).toBeGreaterThanOrEqual(0);
    }),
  );
});

test.each([
  ['580.95.05', '13.0'],
  ['595', '13.2'],
  ['585.10', '13.0'],
  ['700.1', '13.4'],
  ['390.87', undefined],
  ['', undefined],
])('driver %s supports CUDA %s', (version, cuda) => {
  expect(cudaOfDriver(version)).toBe(cuda);
});
