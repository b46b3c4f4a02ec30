// GPU use of a run, from checks every 20 s.
import { expect, test } from 'vitest';
import type { GpuSample } from '../../../../src/manager/history/entries.ts';
import { noUse, useOf, withCheck } from '../../../../src/manager/history/use.ts';
import { devicesOf } from '../../../../src/manager/history/history.ts';
import { gpuFrom, healthyGpu } from '../../../support/gpu-values.ts';

const working: GpuSample = { utilizationPercent: 90, memoryMiB: 4000, powerW: 360, throttled: 0 };
const idle: GpuSample = { utilizationPercent: 0, memoryMiB: 100, powerW: 60, throttled: 0 };
const slowed: GpuSample = { ...working, throttled: 1 };
const mig: GpuSample = { memoryMiB: 2000 };

type Checks = readonly (readonly (GpuSample | undefined)[])[];
const use = (checks: Checks, seconds = 20) =>
  useOf(checks.reduce((before, values) => withCheck(before, values, seconds), noUse));

test.each<[string, Checks, object]>([
  ['no check', [], { samples: 0, sampledS: 0 }],
  ['two checks', [[working], [working]], { samples: 2, sampledS: 40 }],
  [
    'three checks at work',
    [[working], [working], [working]],
    {
      samples: 3,
      sampledS: 60,
      gpuS: 60,
      peakMemoryMiB: 4000,
      meanUtilizationPercent: 90,
      throttledS: 0,
      energyWh: 6,
    },
  ],
  [
    'half of the time idle',
    [[working], [idle], [idle], [working]],
    {
      samples: 4,
      sampledS: 80,
      gpuS: 40,
      peakMemoryMiB: 4000,
      meanUtilizationPercent: 45,
      throttledS: 0,
      energyWh: 4.67,
    },
  ],
  [
    'two GPUs, of which one is idle',
    [
      [working, idle],
      [working, idle],
      [slowed, idle],
    ],
    {
      samples: 3,
      sampledS: 60,
      gpuS: 60,
      peakMemoryMiB: 4100,
      meanUtilizationPercent: 45,
      throttledS: 20,
      energyWh: 7,
    },
  ],
  ['a MIG device: only its memory', [[mig], [mig], [mig]], { samples: 3, sampledS: 60, peakMemoryMiB: 2000 }],
  [
    'a check without an answer counts with the mean of the others',
    [[working], [undefined], [working], [working]],
    {
      samples: 4,
      sampledS: 80,
      gpuS: 80,
      peakMemoryMiB: 4000,
      meanUtilizationPercent: 90,
      throttledS: 0,
      energyWh: 8,
    },
  ],
  [
    'nothing but checks without an answer',
    [[undefined], [undefined], [undefined]],
    { samples: 3, sampledS: 60 },
  ],
  [
    'a card that does not report its power',
    [
      [{ memoryMiB: 5, utilizationPercent: 1 }],
      [{ memoryMiB: 7, utilizationPercent: 1 }],
      [{ memoryMiB: 6 }],
    ],
    { samples: 3, sampledS: 60, gpuS: 60, peakMemoryMiB: 7, meanUtilizationPercent: 1 },
  ],
])('%s', (_, checks, expected) => {
  expect(use(checks)).toEqual(expected);
});

const power = 'gpu_power_readings';

test.each<[string, Record<string, string>, GpuSample]>([
  ['the mean power of driver 595', { [`${power}.average_power_draw`]: '77.67 W' }, { powerW: 77.67 }],
  [
    'the power at once, where there is no mean',
    { [`${power}.average_power_draw`]: 'N/A', [`${power}.instant_power_draw`]: '8.44 W' },
    { powerW: 8.44 },
  ],
  ['the power of driver 535', { [`${power}.power_draw`]: '67.03 W' }, { powerW: 67.03 }],
  ['the power of driver 470', { 'power_readings.power_draw': '30.10 W' }, { powerW: 30.1 }],
  ['no power', { [`${power}.average_power_draw`]: '[Unknown Error]' }, {}],
  [
    'a slowdown by heat',
    { 'clocks_event_reasons.clocks_event_reason_sw_thermal_slowdown': 'Active' },
    { throttled: 1 },
  ],
  [
    'a power cap, which is usual under load',
    {
      'clocks_event_reasons.clocks_event_reason_sw_power_cap': 'Active',
      'clocks_event_reasons.clocks_event_reason_hw_slowdown': 'Not Active',
    },
    { throttled: 0 },
  ],
])('a check reads %s', (_, values, expected) => {
  expect(devicesOf([gpuFrom({ uuid: 'GPU-1', ...values })]).get('GPU-1')).toEqual(expected);
});

test('a check reads all values of a healthy H200', () => {
  const [sample] = devicesOf([gpuFrom(healthyGpu)]).values();
  expect(Object.keys(sample ?? {}).toSorted()).toEqual([
    'memoryMiB',
    'powerW',
    'temperatureC',
    'throttled',
    'utilizationPercent',
  ]);
});
