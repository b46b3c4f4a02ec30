import { expect, test } from 'vitest';
import type { RunUse } from '../../../../src/shared/contract/history.ts';
import type { RunRecord } from '../../../../src/shared/contract/status.ts';
import { useText } from '../../../../src/cli/render/run-use.ts';

const use: RunUse = {
  samples: 260,
  sampledS: 5203,
  gpuS: 4890,
  peakMemoryMiB: 72_915,
  meanUtilizationPercent: 63.4,
  throttledS: 0,
  energyWh: 818.2,
};
const run = (changes: Partial<RunRecord> = {}): RunRecord => ({
  schema: 1,
  run: 'r1',
  slot: '0',
  agent: 'h1-0',
  image: '',
  gpus: [],
  finishedAt: '2026-11-21T09:48:10Z',
  oomKilled: false,
  log: [],
  use,
  ...changes,
});

test('each run with GPU use has a line; two samples, MIG and unknown values are –', () => {
  const runs = [
    run(),
    run({ use: { ...use, throttledS: 4000, energyWh: 12_345 } }),
    run({ slot: '1', use: { samples: 2, sampledS: 40 } }),
    run({ slot: '2', use: { samples: 9, sampledS: 180, peakMemoryMiB: 2048 } }),
    { ...run(), use: undefined } as unknown as RunRecord,
  ];
  expect(useText('h200-1', runs, 80)).toBe(`
GPU use, sampled every 20 s
SLOT      FINISHED (UTC)       GPU TIME  MEMORY    UTIL  THROTTLED  ENERGY
h200-1/0  2026-11-21 09:48:10  82 min    71.2 GiB  63 %  0 s        ≈ 818 Wh
h200-1/0  2026-11-21 09:48:10  82 min    71.2 GiB  63 %  67 min     ≈ 12.3 kWh
h200-1/1  2026-11-21 09:48:10  –         –         –     –          –
h200-1/2  2026-11-21 09:48:10  –         2.0 GiB   –     –          –
`);
});

test('on a narrow screen the time is shorter, then energy, throttled and GPU time are left out', () => {
  const lines = (width: number) => useText('a-host-with-a-name', [run()], width).split('\n').slice(2);
  expect(lines(80)[1]).toBe(
    'a-host-with-a-name/0  11-21 09:48  82 min    71.2 GiB  63 %  0 s        ≈ 818 Wh',
  );
  expect(lines(60)[1]).toBe('a-host-with-a-name/0  11-21 09:48  82 min    71.2 GiB  63 %');
  for (const line of lines(56)) expect(line.length).toBeLessThanOrEqual(56);
});

test('no run with GPU use: nothing', () => {
  expect(useText('h1', [{ ...run(), use: undefined } as unknown as RunRecord])).toBe('');
});
