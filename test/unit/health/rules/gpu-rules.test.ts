import { expect, test } from 'vitest';

import { checkGpu } from '../../../../src/health/rules/gpu-rules.ts';
import type { GpuReport } from '../../../../src/health/report.ts';

const well: GpuReport = {
  index: 0,
  uuid: 'GPU-1',
  name: 'NVIDIA H200',
  busId: '0000:83:00.0',
  memoryTotalMiB: 143_771,
  utilizationPercent: 100,
  performanceState: 0,
  persistence: true,
  thermal: { gpuC: 50, memoryC: 40, marginC: 30, maxGpuC: 85, maxMemoryC: 95 },
  slowdown: { hardware: false, hardwareThermal: false, powerBrake: false, softwareThermal: false },
  pcie: { generation: 5, maxGeneration: 5, width: 16, maxWidth: 16 },
  migMode: 'disabled',
  migDevices: [],
  ecc: { uncorrectedVolatile: 0, remapPending: false, remapFailure: false, remappedUncorrectable: 0 },
  recoveryAction: 'None',
  fabric: { state: 'Completed', status: 'Success' },
  faults: {},
  processes: [],
};

const bare: GpuReport = {
  index: 0,
  uuid: 'GPU-1',
  name: '',
  busId: '',
  thermal: {},
  slowdown: {},
  pcie: {},
  migDevices: [],
  ecc: {},
  fabric: {},
  faults: {},
  processes: [],
};

test.each<[string, GpuReport]>([
  ['everything well', well],
  ['nothing known', bare],
  [
    'an idle GPU saves power on its link',
    { ...well, performanceState: 8, utilizationPercent: 0, pcie: { ...well.pcie, generation: 1 } },
  ],
  ['a few replaced rows', { ...well, ecc: { remappedUncorrectable: 511 } }],
  ['MIG with instances', { ...well, migMode: 'enabled', migDevices: [{ index: 0 }] }],
  ['no margin known, not at the limit', { ...well, thermal: { gpuC: 84, maxGpuC: 85 } }],
])('no finding: %s', (_, gpu) => {
  expect(checkGpu(gpu)).toEqual([]);
});

test.each<[string, 'warn' | 'fail', string, Partial<GpuReport>]>([
  [
    'gpu.lost',
    'fail',
    'temperature.gpu_temp: [GPU is lost]',
    { faults: { 'temperature.gpu_temp': '[GPU is lost]' } },
  ],
  ['gpu.lost', 'fail', 'uuid: [GPU requires reset]', { faults: { uuid: '[GPU requires reset]' } }],
  ['gpu.value-error', 'warn', 'power: ERR!', { faults: { power: 'ERR!' } }],
  ['gpu.recovery-action', 'fail', 'it asks for: Reset', { recoveryAction: 'Reset' }],
  ['gpu.recovery-action', 'fail', 'it asks for: Drain and Reset', { recoveryAction: 'Drain and Reset' }],
  ['gpu.recovery-action', 'fail', 'it asks for: Reboot', { recoveryAction: 'Reboot' }],
  ['gpu.recovery-minor', 'warn', 'it asks for: Drain P2P', { recoveryAction: 'Drain P2P' }],
  ['gpu.ecc-uncorrected', 'fail', '1 uncorrected', { ecc: { uncorrectedVolatile: 1 } }],
  ['gpu.sram-threshold', 'fail', 'SRAM', { ecc: { sramThresholdExceeded: true } }],
  ['gpu.remap-failure', 'fail', 'could not be replaced', { ecc: { remapFailure: true } }],
  ['gpu.remap-pending', 'warn', 'waits', { ecc: { remapPending: true } }],
  ['gpu.retirement-pending', 'warn', 'waits', { ecc: { retirementPending: true } }],
  ['gpu.remapped-rows', 'warn', '512 memory rows', { ecc: { remappedUncorrectable: 512 } }],
  ['gpu.fabric', 'fail', '802', { fabric: { state: 'Not Started' } }],
  ['gpu.fabric', 'fail', 'Failure', { fabric: { state: 'Completed', status: 'Failure' } }],
  ['gpu.fabric-starting', 'warn', 'still', { fabric: { state: 'In Progress' } }],
  ['gpu.mig-empty', 'fail', 'no instance', { migMode: 'enabled' }],
  ['gpu.hot', 'warn', '93 °C, 3 above its limit', { thermal: { gpuC: 93, marginC: -3 } }],
  ['gpu.hot', 'warn', '85 °C, its limit is 85', { thermal: { gpuC: 85, maxGpuC: 85 } }],
  ['gpu.hot', 'warn', 'its memory has 95 °C', { thermal: { memoryC: 95, maxMemoryC: 95 } }],
  ['gpu.slowed-heat', 'warn', 'heat', { slowdown: { hardware: true, hardwareThermal: true } }],
  ['gpu.slowed-heat', 'warn', 'heat', { slowdown: { softwareThermal: true } }],
  ['gpu.slowed-power', 'warn', 'power brake', { slowdown: { hardware: true, powerBrake: true } }],
  ['gpu.slowed', 'warn', 'hardware', { slowdown: { hardware: true } }],
  ['gpu.pcie-width', 'warn', 'PCIe lanes: 8 of 16', { pcie: { width: 8, maxWidth: 16 } }],
  ['gpu.pcie-generation', 'warn', 'PCIe generation: 3 of 5', { pcie: { generation: 3, maxGeneration: 5 } }],
  ['gpu.persistence', 'warn', 'persistence', { persistence: false }],
])('%s is a %s: %s', (code, severity, what, difference) => {
  const findings = checkGpu({ ...well, ...difference });
  expect(findings).toEqual([
    {
      code,
      severity,
      gpu: 'GPU-1',
      what: expect.stringContaining(what),
      next: expect.not.stringContaining('{bus}'),
    },
  ]);
});

test('a GPU whose UUID cannot be read is named by its address', () => {
  expect(checkGpu({ ...well, uuid: '', faults: { uuid: '[Unknown Error]' } })[0]?.gpu).toBe('0000:83:00.0');
});
