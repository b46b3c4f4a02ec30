import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { gpuStatus } from '../../../../src/shared/health/gpu-status.ts';
import { parseSmi } from '../../../../src/shared/health/smi-report.ts';

function statuses(name: string) {
  const output = readFileSync(new URL(`../../../fixtures/nvidia-smi/${name}`, import.meta.url), 'utf8');
  const parsed = parseSmi({ code: 0, output }, []);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.report.gpus.map(gpuStatus);
}

test('a status has the load of a GPU', () => {
  expect(statuses('h200-pair-v13.xml')[0]).toEqual({
    uuid: 'GPU-00000001-0000-4000-8000-000000000001',
    name: 'NVIDIA H200',
    computeMode: 'Default',
    computeCapability: '9.0',
    temperatureC: 28,
    memoryUsedMiB: 0,
    memoryTotalMiB: 143_771,
    utilizationPercent: 0,
    powerW: 77.67,
    throttled: false,
  });
});

test('of a GPU in MIG mode it has the memory of its devices', () => {
  const [gpu] = statuses('a100-mig-v12-with-listing.txt');
  expect(gpu?.mig?.map(({ profile }) => profile)).toEqual(expect.arrayContaining([expect.any(String)]));
  expect(gpu?.mig?.[0]).toMatchObject({
    uuid: expect.stringMatching(/^MIG-/),
    memoryTotalMiB: expect.any(Number),
  });
});

test('what a failing GPU does not report is absent', () => {
  const lost = statuses('h200-pair-one-lost-v13.xml').map(({ temperatureC }) => temperatureC);
  expect(lost).toContain(undefined);
});
