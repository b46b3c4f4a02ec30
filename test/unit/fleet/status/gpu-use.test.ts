import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, test } from 'vitest';

import {
  gpuUse,
  gpuUseScript,
  readGpuUse,
  type SlotsNow,
  whyInUse,
} from '../../../../src/fleet/status/gpu-use.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';

const output = `minor 0 0000:18:00.0
minor 1 0000:3b:00.0
open 1 77 python3
open 1 77 python3
open 0 12 nvidia-persiste
open 1 90 Xorg
end
`;

test('processes are told by GPU; the driver’s daemons are none', () => {
  expect(readGpuUse(output)).toEqual({
    kind: 'value',
    value: new Map([
      ['0000:18:00.0', []],
      ['0000:3b:00.0', ['77 python3', '90 Xorg']],
    ]),
  });
});

const use = readGpuUse(output);
const free = { uuid: 'GPU-1', busId: '0000:18:00.0', migDevices: [] };
const used = { uuid: 'GPU-2', busId: '0000:3b:00.0', migDevices: [] };
const slot = (more: Partial<SlotStatus>): SlotsNow => ({
  kind: 'value',
  value: {
    slots: [
      {
        slot: '0',
        agent: 'box-0',
        pool: 'p',
        gpus: ['GPU-1'],
        since: '',
        jobsRun: 0,
        state: 'idle',
        ...more,
      },
    ],
  },
});
const none: SlotsNow = { kind: 'none' };

test.each<[string, Parameters<typeof whyInUse>, string | undefined]>([
  ['nobody has it', [free, none, use], undefined],
  ['its agent is drained', [free, slot({ state: 'drained' }), use], undefined],
  ['a job runs', [free, slot({ state: 'busy', job: 'train' }), use], 'box-0 runs train on it'],
  ['a job may come', [free, slot({ state: 'idle' }), use], 'box-0 may take a job on it: it is not drained'],
  [
    'quarantined: it may open again',
    [free, slot({ state: 'quarantined' }), use],
    'box-0 may take a job on it: it is not drained',
  ],
  [
    'drained, and its container still ends',
    [free, slot({ state: 'drained', container: 'abc' }), use],
    'box-0 may take a job on it: it is not drained',
  ],
  ['another GPU’s agent', [free, slot({ gpus: ['GPU-2'] }), use], undefined],
  [
    'the agent of a MIG device',
    [{ ...free, migDevices: [{ index: 0, uuid: 'MIG-1' }] }, slot({ gpus: ['MIG-1'] }), use],
    'box-0 may take a job on it: it is not drained',
  ],
  ['a process has it', [used, none, use], 'process 77 python3, 90 Xorg has it open'],
  [
    'the manager does not answer',
    [free, { kind: 'unknown', why: 'no answer' }, use],
    'whether an agent may take a job on it is unknown: no answer',
  ],
  [
    'the processes were not read',
    [free, none, readGpuUse('minor 0 0000:18:00.0\n')],
    'which processes have it open is unknown: the list of processes is not whole',
  ],
  [
    'its device number was not read',
    [{ ...free, busId: '0000:99:00.0' }, none, use],
    'which processes have it open is unknown: its device number cannot be read',
  ],
])('%s', (_, given, expected) => expect(whyInUse(...given)).toBe(expected));

it('a host that does not answer is unknown, not free', async () => {
  const failing = async () => {
    throw new FleetError({ code: 'ssh.timeout', what: 'no answer in 15 s' });
  };
  expect(await gpuUse({ script: failing }, { prefix: '' })).toEqual({
    kind: 'unknown',
    why: 'no answer in 15 s',
  });
});

it('reads any output', () => {
  fc.assert(fc.property(fc.string(), (text) => void readGpuUse(text)));
});

test('the script lists the device numbers of the GPUs', () => {
  const root = mkdtempSync(join(tmpdir(), "azp it's "));
  try {
    const gpu = join(root, 'proc/driver/nvidia/gpus/0000:18:00.0');
    mkdirSync(gpu, { recursive: true });
    writeFileSync(
      join(gpu, 'information'),
      'Model: \t\t NVIDIA H200\nDevice Minor: \t 3\nGPU Excluded:\t No\n',
    );
    const { stdout, stderr, status } = spawnSync('sh', ['-c', gpuUseScript({ prefix: root })], {
      encoding: 'utf8',
    });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    expect(stdout).toContain('minor 3 0000:18:00.0\n');
    expect(readGpuUse(stdout).kind).toBe('value');
  } finally {
    rmSync(root, { recursive: true });
  }
});
