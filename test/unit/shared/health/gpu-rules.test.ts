import { describe, expect, test } from 'vitest';
import { checkGpu } from '../../../../src/shared/health/checkup.ts';
import { gpuRules } from '../../../../src/shared/health/gpu-rules.ts';
import { gpuFrom, healthyGpu as well, type Values } from '../../../support/gpu-values.ts';

/** Changed values of a healthy GPU, by their path in `nvidia-smi -q -x`. */
const findings = (changes: Values) => checkGpu(gpuFrom({ ...well, ...changes }));

const reason = 'clocks_event_reasons.clocks_event_reason';
const throttle = 'clocks_throttle_reasons.clocks_throttle_reason';
const link = 'pci.pci_gpu_link_info';
const power = 'gpu_power_readings.current_power_limit';
const defaultPower = 'gpu_power_readings.default_power_limit';
const oldPower = { [power]: 'N/A', [defaultPower]: 'N/A' };
const working = { performance_state: 'P0', 'utilization.gpu_util': '100 %' };
/** Temperatures of cards without a margin. */
const limits = {
  'temperature.gpu_temp_tlimit': 'N/A',
  'temperature.gpu_temp_max_gpu_threshold': '85 C',
  'temperature.gpu_temp_max_mem_threshold': '95 C',
};

test.each<[string, Values]>([
  ['everything well', {}],
  [
    'an idle GPU saves power on its link',
    { performance_state: 'P8', 'utilization.gpu_util': '0 %', [`${link}.pcie_gen.current_link_gen`]: '1' },
  ],
  [
    'a card with a newer PCIe generation than its host',
    {
      ...working,
      [`${link}.pcie_gen.max_device_link_gen`]: '6',
      [`${link}.pcie_gen.max_host_link_gen`]: '5',
    },
  ],
  ['a few remapped rows', { 'remapped_rows.remapped_row_unc': '511' }],
  ['corrected errors', { 'ecc_errors.volatile.dram_correctable': '9000' }],
  ['MIG with instances', { 'mig_mode.current_mig': 'Enabled', 'mig_devices.mig_device.index': '0' }],
  ['all lanes', { [`${link}.link_widths.current_link_width`]: '16x' }],
  ['the fabric is ready', { 'fabric.state': 'Completed', 'fabric.status': 'Success' }],
  ['no slowdown by the driver', { [`${reason}_sw_thermal_slowdown`]: 'Not Active' }],
  [
    'nothing to repair',
    {
      'ecc_errors.unrepairable_memory': 'No',
      'ecc_errors.channel_repair_pending': 'No',
      'ecc_errors.tpc_repair_pending': 'No',
    },
  ],
  ['a healthy fabric', { 'fabric.health.summary': 'Healthy' }],
  ['one process at a time', { compute_mode: 'Exclusive_Process' }],
  ['the default power limit', { [power]: '700.00 W', [defaultPower]: '700.00 W' }],
  ['more power than the default', { [power]: '700.00 W', [defaultPower]: '600.00 W' }],
  ['unknown margin, below the limit', { ...limits, 'temperature.gpu_temp': '84 C' }],
])('no finding: %s', (_, changes) => {
  expect(findings(changes)).toEqual([]);
});

const faults: [string, 'info' | 'warn' | 'fail', string, Values][] = [
  ['gpu.lost', 'fail', 'temperature.gpu_temp: [GPU is lost]', { 'temperature.gpu_temp': '[GPU is lost]' }],
  ['gpu.lost', 'fail', 'serial: [GPU requires reset]', { serial: '[GPU requires reset]' }],
  ['gpu.value-error', 'warn', 'serial: ERR!', { serial: 'ERR!' }],
  ['gpu.recovery-action', 'fail', 'the driver asks for: Reset', { gpu_recovery_action: 'GPU Reset' }],
  ['gpu.recovery-action', 'fail', 'the driver asks for: Reboot', { gpu_recovery_action: 'Node Reboot' }],
  [
    'gpu.recovery-action',
    'fail',
    'the driver asks for: Drain and Reset',
    { gpu_recovery_action: 'Drain and Reset' },
  ],
  [
    'gpu.recovery-action',
    'fail',
    'the driver asks for: Reset',
    { gpu_recovery_action: 'N/A', 'gpu_reset_status.reset_required': 'Yes' },
  ],
  [
    'gpu.recovery-action',
    'fail',
    'the driver asks for: Drain and Reset',
    { gpu_recovery_action: 'N/A', 'gpu_reset_status.drain_and_reset_recommended': 'Yes' },
  ],
  ['gpu.recovery-minor', 'warn', 'the driver asks for: Drain P2P', { gpu_recovery_action: 'Drain P2P' }],
  [
    'gpu.ecc-uncorrected',
    'fail',
    '3 uncorrected',
    { 'ecc_errors.volatile.sram_uncorrectable_secded': '1', 'ecc_errors.volatile.dram_uncorrectable': '2' },
  ],
  ['gpu.ecc-uncorrected', 'fail', '2 uncorrected', { 'ecc_errors.volatile.double_bit.total': '2' }],
  ['gpu.sram-threshold', 'fail', 'SRAM', { 'ecc_errors.aggregate.sram_threshold_exceeded': 'Yes' }],
  ['gpu.remap-failure', 'fail', 'could not be remapped', { 'remapped_rows.remapped_row_failure': 'Yes' }],
  [
    'gpu.remap-pending',
    'warn',
    'is remapped at the next reset',
    { 'remapped_rows.remapped_row_pending': 'Yes' },
  ],
  ['gpu.unrepairable-memory', 'fail', 'cannot be repaired', { 'ecc_errors.unrepairable_memory': 'Yes' }],
  ['gpu.channel-repair-pending', 'warn', 'channel', { 'ecc_errors.channel_repair_pending': 'Yes' }],
  ['gpu.tpc-repair-pending', 'warn', 'TPC', { 'ecc_errors.tpc_repair_pending': 'Yes' }],
  [
    'gpu.retirement-pending',
    'warn',
    'is retired at the next reboot',
    { 'retired_pages.pending_retirement': 'Yes' },
  ],
  ['gpu.remapped-rows', 'warn', '512 memory rows', { 'remapped_rows.remapped_row_unc': '512' }],
  ['gpu.fabric', 'fail', '802', { 'fabric.state': 'Not Started', 'fabric.status': 'N/A' }],
  ['gpu.fabric', 'fail', 'Failure', { 'fabric.status': 'Failure' }],
  ['gpu.fabric-starting', 'warn', 'still', { 'fabric.state': 'In Progress' }],
  ['gpu.fabric-unhealthy', 'fail', 'unhealthy', { 'fabric.health.summary': 'Unhealthy' }],
  ['gpu.compute-prohibited', 'fail', 'Prohibited', { compute_mode: 'Prohibited' }],
  [
    'gpu.power-capped',
    'info',
    'power limit in watts: 500 of 700',
    { [power]: '500.00 W', [defaultPower]: '700.00 W' },
  ],
  [
    'gpu.power-capped',
    'info',
    'power limit in watts: 60 of 70',
    { ...oldPower, 'power_readings.power_limit': '60.00 W', 'power_readings.default_power_limit': '70.00 W' },
  ],
  ['gpu.mig-empty', 'fail', 'no instance', { 'mig_mode.current_mig': 'Enabled' }],
  [
    'gpu.hot',
    'warn',
    '93 °C, 3 above its limit',
    { 'temperature.gpu_temp': '93 C', 'temperature.gpu_temp_tlimit': '-3 C' },
  ],
  ['gpu.hot', 'warn', '85 °C, its limit is 85', { ...limits, 'temperature.gpu_temp': '85 C' }],
  ['gpu.hot', 'warn', 'its memory has 95 °C', { ...limits, 'temperature.memory_temp': '95 C' }],
  [
    'gpu.slowed-heat',
    'warn',
    'heat',
    { [`${reason}_hw_slowdown`]: 'Active', [`${reason}_hw_thermal_slowdown`]: 'Active' },
  ],
  ['gpu.slowed-heat-software', 'info', 'target', { [`${reason}_sw_thermal_slowdown`]: 'Active' }],
  [
    'gpu.slowed-power',
    'warn',
    'power brake',
    { [`${reason}_hw_slowdown`]: 'Active', [`${reason}_hw_power_brake_slowdown`]: 'Active' },
  ],
  ['gpu.slowed', 'warn', 'hardware', { [`${reason}_hw_slowdown`]: 'Active' }],
  [
    'gpu.slowed',
    'warn',
    'hardware',
    { [`${reason}_hw_slowdown`]: 'N/A', [`${throttle}_hw_slowdown`]: 'Active' },
  ],
  [
    'gpu.pcie-width',
    'info',
    'PCIe lanes: 8 of 16',
    { [`${link}.link_widths.current_link_width`]: '8x', [`${link}.link_widths.max_link_width`]: '16x' },
  ],
  [
    'gpu.pcie-generation',
    'warn',
    'PCIe generation: 3 of 5',
    { ...working, [`${link}.pcie_gen.current_link_gen`]: '3' },
  ],
  ['gpu.persistence', 'warn', 'persistence', { persistence_mode: 'Disabled' }],
];

test.each(faults)('%s is a %s: %s', (code, severity, what, changes) => {
  expect(findings(changes)).toEqual([
    {
      code,
      severity,
      gpu: well['uuid'],
      what: expect.stringContaining(what),
      next: expect.not.stringContaining('{bus}'),
    },
  ]);
});

describe('an absent value is no finding', () => {
  test.each(faults)('%s, %s: %s', (_, __, ___, changes) => {
    const paths = Object.keys(changes);
    expect(findings(Object.fromEntries(paths.map((path) => [path, 'N/A'])))).toEqual([]);
    const rest = Object.entries(well).filter(([path]) => !paths.includes(path));
    expect(checkGpu(gpuFrom(Object.fromEntries(rest)))).toEqual([]);
  });

  test('all values are absent', () => {
    expect(checkGpu(gpuFrom({ uuid: 'GPU-1' }))).toEqual([]);
    expect(checkGpu(gpuFrom(Object.fromEntries(Object.keys(well).map((path) => [path, 'N/A']))))).toEqual([]);
  });
});

test('every rule has a row above', () => {
  const shown = new Set(faults.map(([code]) => code));
  expect(gpuRules.map(({ code }) => code).filter((code) => !shown.has(code))).toEqual([]);
});

test('a GPU whose UUID cannot be read is named by its address', () => {
  expect(findings({ uuid: '[Unknown Error]' })[0]?.gpu).toBe('0000:83:00.0');
});

test('text from a host is kept up to a limit', () => {
  const [found] = findings({ gpu_recovery_action: 'x'.repeat(1_000_000) });
  expect(found).toMatchObject({ code: 'gpu.recovery-minor' });
  expect(found?.what.length).toBeLessThan(300);
  const lost = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`field${at}`, 'ERR!']));
  expect(Object.keys(gpuFrom(lost).faults).length).toBeLessThan(1000);
});
