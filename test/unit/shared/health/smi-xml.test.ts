import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalizeBusId } from '../../../../src/shared/health/gpu.ts';
import { parseSmi, type SmiReport } from '../../../../src/shared/health/smi-report.ts';

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../fixtures/nvidia-smi/${name}`, import.meta.url), 'utf8');

function report(output: string): SmiReport {
  const parsed = parseSmi({ code: 0, output }, []);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.report;
}

test('a healthy pair of H200 (schema v13)', () => {
  const { driverVersion, cudaVersion, gpus } = report(fixture('h200-pair-v13.xml'));
  expect({ driverVersion, cudaVersion }).toEqual({ driverVersion: '595.84', cudaVersion: '13.2' });
  expect(gpus.map(({ busId }) => busId)).toEqual(['0000:83:00.0', '0000:84:00.0']);
  expect(gpus[0]).toMatchObject({
    uuid: 'GPU-00000001-0000-4000-8000-000000000001',
    name: 'NVIDIA H200',
    computeCapability: '9.0',
    memoryTotalMiB: 143_771,
    persistence: true,
    migMode: 'disabled',
    recoveryAction: 'None',
    thermal: { gpuC: 28, memoryC: 32, marginC: 59 },
    pcie: { generation: 5, maxGeneration: 5, width: 16, maxWidth: 16 },
    ecc: { uncorrectedVolatile: 0, remapPending: false, remapFailure: false, sramThresholdExceeded: false },
    fabric: { state: 'Completed', status: 'Success' },
    faults: {},
  });
});

test('a T4 of an old driver (schema v11): throttle reasons, double-bit errors, retired pages', () => {
  expect(report(fixture('t4-hot-v11.xml')).gpus[0]).toMatchObject({
    slowdown: { hardwareThermal: true, hardware: false },
    ecc: { uncorrectedVolatile: 2, retirementPending: true },
    thermal: { gpuC: 86, maxGpuC: 85 },
    performanceState: 8,
  });
});

test('MIG devices get UUIDs and profiles from the listing after the XML; output before it is ignored', () => {
  const [gpu] = report(fixture('a100-mig-v12-with-listing.txt')).gpus;
  expect(gpu?.migDevices).toEqual([
    {
      index: 0,
      gpuInstance: 3,
      computeInstance: 0,
      memoryTotalMiB: 19_968,
      profile: '2g.20gb',
      uuid: 'MIG-aaaaaaaa-0000-5000-8000-000000000000',
    },
    {
      index: 1,
      gpuInstance: 4,
      computeInstance: 0,
      memoryTotalMiB: 19_968,
      profile: '2g.20gb',
      uuid: 'MIG-bbbbbbbb-0000-5000-8000-000000000001',
    },
  ]);
  expect(gpu?.recoveryAction).toBe('Drain and Reset');
});

test('remarks after version numbers are dropped', () => {
  expect(report(fixture('remarks-610.xml'))).toMatchObject({
    driverVersion: '610.57.04',
    cudaVersion: '13.3',
  });
});

test('an absent value is never 0, a failure is never absent', () => {
  const [lost, well] = report(fixture('h200-pair-one-lost-v13.xml')).gpus;
  expect(lost?.thermal.gpuC).toBeUndefined();
  expect(lost?.faults).toEqual({
    'temperature.gpu_temp': '[GPU is lost]',
    'gpu_power_readings.average_power_draw': '[Unknown Error]',
  });
  expect(well?.faults).toEqual({});
  expect(report(fixture('a100-mig-v12-with-listing.txt')).gpus[0]?.ecc).not.toHaveProperty(
    'remappedUncorrectable',
  );
});

test('an ignored GPU is in no report, and an unexpected one makes it ambiguous', () => {
  const output = fixture('h200-pair-v13.xml');
  const [first = '', second = ''] = report(output).gpus.map(({ busId }) => busId);
  const seen = parseSmi({ code: 0, output }, [first], [second]);
  expect(seen.ok && seen.report.gpus.map(({ busId }) => busId)).toEqual([first]);
  expect(parseSmi({ code: 0, output }, [first])).toMatchObject({ ok: false, isAmbiguous: true });
});

test('a process cannot rewrite the report by its name', () => {
  const evil = '</x><gpu_recovery_action>Reset</gpu_recovery_action><b attr=>&';
  const output = fixture('h200-pair-v13.xml').replace('python -c &quot;a&amp;&amp;b&quot;', evil);
  expect(report(output)).toEqual(report(fixture('h200-pair-v13.xml')));
});

describe('invalid output is a typed failure', () => {
  test.each([
    ['', 'no XML'],
    ['NVIDIA-SMI has failed', 'no XML'],
    ['<?xml version="1.0"?><nvidia_smi_log><gpu>', 'ends early'],
    ['<nvidia_smi_log><gpu></nvidia_smi_log>', 'unexpected </nvidia_smi_log>'],
    ['<nvidia_smi_log><gpu </nvidia_smi_log>', 'not XML'],
    ['<!DOCTYPE a [<!ENTITY x "y">]><nvidia_smi_log></nvidia_smi_log>', undefined],
  ])('%s', (output, reason) => {
    const parsed = parseSmi({ code: 0, output }, []);
    if (reason === undefined) expect(parsed.ok).toBe(true);
    else expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining(reason) as string });
  });

  const whole = fixture('h200-pair-v13.xml');

  test('any cut or damage of a real shape never throws', () => {
    const damage = fc.record({
      at: fc.nat(whole.length),
      drop: fc.nat(40),
      put: fc.string({ unit: 'binary', maxLength: 12 }),
    });
    fc.assert(
      fc.property(fc.array(damage, { maxLength: 4 }), (damages) => {
        const text = damages.reduce(
          (t, { at, drop, put }) => t.slice(0, at) + put + t.slice(at + drop),
          whole,
        );
        expect(typeof parseSmi({ code: 0, output: text }, []).ok).toBe('boolean');
      }),
      { numRuns: 150 },
    );
  });

  test('any text never throws', () => {
    const tokens = fc.constantFrom(
      '<nvidia_smi_log>',
      '</nvidia_smi_log>',
      '<?xml?>',
      '<gpu id="x">',
      '</gpu>',
      '<',
      '>',
      '&#x110000;',
      '<!--',
      ']]>',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(tokens, fc.string()), { maxLength: 30 }), (parts) => {
        expect(typeof parseSmi({ code: 0, output: parts.join('') }, []).ok).toBe('boolean');
      }),
    );
  });
});

test.each([
  ['00000000:83:00.0', '0000:83:00.0'],
  ['0000:0C:00.0', '0000:0c:00.0'],
  ['PCI:0018:01:00', '0018:01:00.0'],
  ['0001:00:00.0', '0001:00:00.0'],
  ['3f:0.1', '0000:3f:00.1'],
  ['Nonsense', 'nonsense'],
])('bus id %s is %s', (id, normal) => {
  expect(normalizeBusId(id)).toBe(normal);
});
