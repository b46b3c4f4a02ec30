import { expect, test } from 'vitest';

import { NvlinkWatch } from '../../../../src/manager/gpus/nvlink-watch.ts';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { failed, printed } from '../../../support/rig-programs.ts';

const gpu = (at: number, name = 'NVIDIA H200', migMode: 'enabled' | 'disabled' = 'disabled') =>
  ({ uuid: `GPU-${at}`, name, migMode }) as const;
const pair = [gpu(0), gpu(1)];
const output = (...states: readonly string[]): CommandResult =>
  printed(
    states.map((state, at) => `GPU ${at}: NVIDIA H200 (UUID: GPU-${at})\n\t Link 0: ${state}\n`).join(''),
  );
const up = output('26.562 GB/s', '26.562 GB/s');
const down = output('26.562 GB/s', '<inactive>');

function watched(answer: CommandResult) {
  const host = { now: 0, asked: 0, answer };
  const watch = new NvlinkWatch(
    {
      run: async (program, args) => {
        expect([program, ...args]).toEqual(['nvidia-smi', 'nvlink', '--status']);
        host.asked += 1;
        return host.answer;
      },
    },
    { monotonic: () => host.now, scaled: (ms) => ms },
  );
  const codes = () => watch.findings.map(({ code, gpu: on }) => `${code} ${on}`);
  return { host, watch, codes };
}

test('a link that two checks find inactive is a finding, until it is active again', async () => {
  const { host, watch, codes } = watched(up);
  await watch.check(pair);
  await watch.check(pair);
  expect([host.asked, codes()]).toEqual([1, []]);
  [host.now, host.answer] = [300_000, down];
  await watch.check(pair);
  expect(codes()).toEqual([]);
  host.now += 20_000;
  await watch.check(pair);
  expect(codes()).toEqual(['gpu.nvlink-inactive GPU-1']);
  [host.now, host.answer] = [host.now + 20_000, up];
  await watch.check(pair);
  expect([host.asked, codes()]).toEqual([4, []]);
});

test.each([
  ['one GPU', [gpu(0)], 0],
  ['GPUs that MIG divides', [gpu(0, 'NVIDIA H200', 'enabled'), gpu(1, 'NVIDIA H200', 'enabled')], 0],
  ['GPUs without NVLink', [gpu(0, 'Tesla T4'), gpu(1, 'Tesla T4')], 1],
])('%s: nvidia-smi is asked at most once', async (_, gpus, asked) => {
  const { host, watch, codes } = watched(printed(''));
  for (let check = 0; check < 3; check += 1, host.now += 600_000) await watch.check(gpus);
  expect([host.asked, codes()]).toEqual([asked, []]);
});

test('new GPUs are asked about, and have none of the findings of the ones before', async () => {
  const { host, watch, codes } = watched(down);
  await watch.check(pair);
  host.now += 20_000;
  await watch.check(pair);
  expect(codes()).toHaveLength(1);
  host.answer = printed('');
  await watch.check([gpu(2, 'Tesla T4'), gpu(3, 'Tesla T4')]);
  expect([host.asked, codes()]).toEqual([3, []]);
});

test('where a board has links, an nvidia-smi that does not list them is unknown, not "none"', async () => {
  const { host, watch } = watched(failed(2, 'Invalid argument \u001B[31mnvlink'));
  await watch.check(pair);
  host.now += 20_000;
  await watch.check(pair);
  expect(watch.findings).toMatchObject([
    {
      code: 'gpu.nvlink-unknown',
      severity: 'info',
      what: 'whether its NVLinks are active is unknown: nvidia-smi nvlink --status exits with 2: Invalid argument nvlink',
    },
  ]);
});

test('an nvidia-smi that hangs changes nothing', async () => {
  const { host, watch, codes } = watched(down);
  await watch.check(pair);
  host.now += 20_000;
  await watch.check(pair);
  host.now += 20_000;
  host.answer = { code: -1, output: '', timedOut: true, stillRunning: () => true };
  await watch.check(pair);
  expect(codes()).toEqual(['gpu.nvlink-inactive GPU-1']);
});
