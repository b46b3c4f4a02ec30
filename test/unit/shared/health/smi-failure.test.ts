import { expect, test } from 'vitest';

import { explainSmiFailure, type Where } from '../../../../src/shared/health/smi-failure.ts';

const run = (code: number, output = ''): Parameters<typeof explainSmiFailure>[0] => ({
  code,
  output,
  timedOut: false,
});

const warnings = new Set(['gpu.inforom', 'driver.no-uvm']);

test.each<[string, Where, number, string, string]>([
  [
    'driver.mismatch',
    'host',
    18,
    'Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161',
    '',
  ],
  ['driver.mismatch', 'container', 18, '', ''],
  [
    'driver.not-loaded',
    'host',
    9,
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    '',
  ],
  [
    'gpu.lost',
    'host',
    15,
    'Unable to determine the device handle for GPU 0000:09:00.0: GPU is lost.  Reboot the system to recover this GPU',
    '0000:09:00.0',
  ],
  [
    'gpu.unreachable',
    'host',
    255,
    'Unable to determine the device handle for GPU0000:0A:00.0: Unknown Error',
    '0000:0a:00.0',
  ],
  [
    'gpu.unreachable',
    'host',
    0,
    'Unable to determine the device handle for GPU 00000000:09:00.0: Unknown Error',
    '0000:09:00.0',
  ],
  [
    'gpu.lost',
    'host',
    15,
    'Unable to determine the device handle for GPU0: 00000000:18:00.0: GPU is lost.',
    '0000:18:00.0',
  ],
  ['container.gpu-access', 'container', 255, 'Failed to initialize NVML: Unknown Error', ''],
  ['smi.failed', 'host', 255, 'Failed to initialize NVML: Unknown Error', ''],
  ['container.permission', 'container', 255, 'Failed to initialize NVML: Insufficient Permissions', ''],
  ['gpu.none-found', 'host', 6, 'No devices were found', ''],
  ['gpu.none-found', 'host', 255, 'Failed to initialize NVML: No supported GPUs were found', ''],
  ['smi.missing', 'container', 127, '/bin/sh: 1: nvidia-smi: not found', ''],
  ['smi.missing', 'host', 127, '', ''],
  ['smi.not-runnable', 'container', 126, '', ''],
  [
    'driver.no-library',
    'container',
    12,
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
    '',
  ],
  ['driver.no-library', 'host', 13, '', ''],
  ['gpu.power-cable', 'host', 8, '', ''],
  ['gpu.interrupt', 'host', 10, '', ''],
  ['gpu.inforom', 'host', 14, 'WARNING: infoROM is corrupted at gpu 0000:83:00.0', ''],
  ['smi.permission', 'host', 4, '', ''],
  ['smi.argument', 'host', 2, '', ''],
  ['smi.unsupported', 'host', 3, '', ''],
  [
    'container.no-uvm',
    'container',
    0,
    '<nvidia_smi_log></nvidia_smi_log>\nazp-fleet: no /dev/nvidia-uvm',
    '',
  ],
  ['driver.no-uvm', 'host', 0, '<nvidia_smi_log></nvidia_smi_log>\nazp-fleet: no /dev/nvidia-uvm', ''],
  ['smi.failed', 'host', 77, 'something new', ''],
])('%s (%s, exit %i)', (code, where, exit, output, gpu) => {
  const finding = explainSmiFailure(run(exit, output), where);
  expect(finding).toMatchObject({ code, severity: warnings.has(code) ? 'warn' : 'fail' });
  if (gpu !== '') expect(finding?.gpu).toBe(gpu);
  expect(finding?.next).not.toBe('');
});

test('a timeout is a hang, with any output', () => {
  expect(explainSmiFailure({ code: 0, output: 'No devices were found', timedOut: true }, 'host')?.code).toBe(
    'smi.hung',
  );
});

test('exit 0 is no failure, and the XML is not searched for error texts', () => {
  const output = '<nvidia_smi_log><process_name>No devices were found</process_name></nvidia_smi_log>';
  expect(explainSmiFailure(run(0, output), 'host')).toBeUndefined();
});

test('an unknown failure shows its last line', () => {
  expect(explainSmiFailure(run(77, 'a\nsomething new\n'), 'host')?.what).toBe(
    'nvidia-smi failed with exit code 77: something new',
  );
});
