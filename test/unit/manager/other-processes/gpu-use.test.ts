import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseSmi } from '../../../../src/shared/health/smi-report.ts';
import type { Slot } from '../../../../src/manager/model.ts';
import {
  idleMemory,
  type GpuSnapshot,
  type GpuProcess,
  usesOf,
  withIdle,
} from '../../../../src/manager/other-processes/gpu-use.ts';
import { memoryIn, readMemoryInUse } from '../../../../src/manager/other-processes/listing.ts';
import { printed } from '../../../support/rig-programs.ts';
import { plainSlot } from '../../../support/slot.ts';

const inParts = readFileSync('test/fixtures/nvidia-smi/a100-mig-v12-with-listing.txt', 'utf8');
const board = 'GPU-00000004-0000-4000-8000-000000000004';
const [first, second] = [
  'MIG-aaaaaaaa-0000-5000-8000-000000000000',
  'MIG-bbbbbbbb-0000-5000-8000-000000000001',
];

function reportOf(text: string) {
  const parsed = parseSmi({ code: 0, output: text }, []);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.report;
}
const report = reportOf(inParts);

const slot = (name: string, ...gpus: string[]): Slot => ({ ...plainSlot, name, gpus });
const foreign: GpuProcess = { gpu: board, pid: 1, usedMiB: 500, owner: { kind: 'foreign' } };
const snapshot = (changes: Partial<GpuSnapshot>): GpuSnapshot => ({
  processes: [],
  memory: new Map(),
  baselines: {},
  displays: new Set(),
  report,
  slots: [],
  isBusy: () => false,
  ...changes,
});

describe('a GPU in MIG mode', () => {
  // As in captures of driver 590 on an H200 in MIG mode: each device has its memory in use, and no UUID.
  const used = [9, 2_201];
  const xml = inParts
    .slice(0, inParts.indexOf('</nvidia_smi_log>') + '</nvidia_smi_log>'.length)
    .replaceAll(
      /<total>19968 MiB<\/total>/g,
      () => `<total>19968 MiB</total><used>${used.shift()} MiB</used>`,
    );

  test('the memory of each MIG device is read from the XML, by the UUID of the listing', () => {
    expect(Object.fromEntries(memoryIn(reportOf(xml), report))).toMatchObject({
      [first]: { usedMiB: 9, displays: false },
      [second]: { usedMiB: 2_201, displays: false },
    });
    expect([...memoryIn(reportOf(xml), undefined).keys()]).toEqual([board]);
  });

  test('has the processes of its board', () => {
    const [use] = usesOf(
      slot('0', first),
      snapshot({ processes: [foreign, { ...foreign, gpu: 'GPU-other' }] }),
    );
    expect(use).toMatchObject({ gpu: first, isPart: true, processes: [foreign] });
  });

  test('has no processes if its board is unknown', () => {
    const [use] = usesOf(slot('0', 'MIG-unknown'), snapshot({ processes: [foreign] }));
    expect(use).toMatchObject({ isPart: true, processes: [], memoryMiB: undefined });
  });
});

test.each([
  [false, 'nvidia-smi --query-gpu=uuid,memory.used,display_active --format=csv,noheader,nounits'],
  [true, 'sh -c nvidia-smi -q -x'],
])(
  'the memory is read by one call of nvidia-smi through the GPU watch; MIG devices: %s',
  async (parts, expected) => {
    const calls: string[] = [];
    const run = (program: string, args: readonly string[]) => {
      calls.push([program, ...args].join(' '));
      return Promise.resolve({ ...printed(''), code: 9, program });
    };
    const knowledge = { driver: { run }, order: [], ignored: [], report: undefined };
    expect((await readMemoryInUse(knowledge, parts)).size).toBe(0);
    expect(calls).toEqual([expect.stringContaining(expected)]);
  },
);

describe('memory in use', () => {
  const memory = new Map([[board, { usedMiB: 600, displays: false }]]);
  const name = (product: string) => ({
    ...report,
    gpus: report.gpus.map((gpu) => ({ ...gpu, name: product })),
  });
  test.each([
    ['counts', {}, 600],
    ['is unknown on a GPU with a display since the boot', { displays: new Set([board]) }, undefined],
    ['is unknown if CPU and GPU share memory', { report: name('NVIDIA GH200 480GB') }, undefined],
    ['is unknown on Grace Blackwell', { report: name('NVIDIA GB200') }, undefined],
    ['is unknown on a GPU that does not report it', { memory: new Map() }, undefined],
  ])('%s', (_, changes, expected) => {
    expect(usesOf(slot('0', board), snapshot({ memory, ...changes }))[0]?.memoryMiB).toBe(expected);
  });
});

test('the sharers of a GPU are the other slots that have it in the configuration', () => {
  const slots = [slot('0', board), slot('1', board, 'GPU-2'), slot('2', 'GPU-2')];
  const [use] = usesOf(slot('0', board), snapshot({ slots, isBusy: (name) => name === '1' }));
  expect([...(use?.sharers ?? [])]).toEqual([['1', { busy: true }]]);
});

describe('idle memory of a GPU', () => {
  const memory = new Map([
    [board, { usedMiB: 4, displays: false }],
    ['GPU-2', { usedMiB: 30_000, displays: false }],
  ]);
  const slots = [slot('0', board), slot('1', 'GPU-2')];
  test.each<[string, Partial<GpuSnapshot>, Record<string, number>]>([
    ['is read on GPUs without processes', {}, { [board]: 4, 'GPU-2': 30_000 }],
    ['is not read with a process', { processes: [foreign] }, { 'GPU-2': 30_000 }],
    ['is not read while a job runs', { isBusy: (name) => name === '1' }, { [board]: 4 }],
  ])('%s', (_, changes, expected) => {
    expect(Object.fromEntries(idleMemory(snapshot({ memory, slots, ...changes })))).toEqual(expected);
  });

  const known = (mib: Record<string, number>) => ({ boot: 'b', mib });
  test.each<[string, Record<string, number>, number, Record<string, number>]>([
    ['the first value', {}, 214, { g: 214 }],
    ['not more than a driver uses', {}, 1_025, {}],
    ['a lower value', { g: 214 }, 211, { g: 211 }],
    ['not a higher value, which could be a leak', { g: 214 }, 250, { g: 214 }],
  ])('baseline: %s', (_, before, seen, after) => {
    expect(withIdle(known(before), new Map([['g', seen]])).mib).toEqual(after);
  });
  test('an unchanged baseline is not written', () => {
    const before = known({ g: 3 });
    expect(withIdle(before, new Map([['g', 3]]))).toBe(before);
  });
});
