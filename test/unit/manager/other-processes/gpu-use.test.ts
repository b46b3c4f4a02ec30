import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseSmi } from '../../../../src/shared/health/smi-report.ts';
import type { Slot } from '../../../../src/manager/model.ts';
import {
  idleMemory,
  type Sight,
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
const stranger: GpuProcess = { gpu: board, pid: 1, usedMiB: 500, whose: { kind: 'stranger' } };
const sight = (changes: Partial<Sight>): Sight => ({
  processes: [],
  memory: new Map(),
  baselines: {},
  screens: new Set(),
  report,
  slots: [],
  isBusy: () => false,
  ...changes,
});

describe('a GPU in parts', () => {
  // As captures of 590 on an H200 in parts have it: each part tells its own use, the XML does not name it.
  const used = [9, 2_201];
  const xml = inParts
    .slice(0, inParts.indexOf('</nvidia_smi_log>') + '</nvidia_smi_log>'.length)
    .replaceAll(
      /<total>19968 MiB<\/total>/g,
      () => `<total>19968 MiB</total><used>${used.shift()} MiB</used>`,
    );

  test('the memory of each part comes from the XML, under the name that the listing gave it', () => {
    expect(Object.fromEntries(memoryIn(reportOf(xml), report))).toMatchObject({
      [first]: { usedMiB: 9, displays: false },
      [second]: { usedMiB: 2_201, displays: false },
    });
    expect([...memoryIn(reportOf(xml), undefined).keys()]).toEqual([board]);
  });

  test('processes are those of its board', () => {
    const [use] = usesOf(
      slot('0', first),
      sight({ processes: [stranger, { ...stranger, gpu: 'GPU-other' }] }),
    );
    expect(use).toMatchObject({ gpu: first, isPart: true, processes: [stranger] });
  });

  test('of an unknown board has no processes, and is a MIG device', () => {
    const [use] = usesOf(slot('0', 'MIG-unknown'), sight({ processes: [stranger] }));
    expect(use).toMatchObject({ isPart: true, processes: [], memoryMiB: undefined });
  });
});

test.each([
  [false, 'nvidia-smi --query-gpu=uuid,memory.used,display_active --format=csv,noheader,nounits'],
  [true, 'sh -c nvidia-smi -q -x'],
])('one question to nvidia-smi, by who guards the driver; with parts: %s', async (parts, expected) => {
  const asked: string[] = [];
  const run = (program: string, args: readonly string[]) => {
    asked.push([program, ...args].join(' '));
    return Promise.resolve({ ...printed(''), code: 9, program });
  };
  const knowledge = { driver: { run }, order: [], ignored: [], report: undefined };
  expect((await readMemoryInUse(knowledge, parts)).size).toBe(0);
  expect(asked).toEqual([expect.stringContaining(expected)]);
});

describe('memory tells nothing', () => {
  const memory = new Map([[board, { usedMiB: 600, displays: false }]]);
  const name = (product: string) => ({
    ...report,
    gpus: report.gpus.map((gpu) => ({ ...gpu, name: product })),
  });
  test.each([
    ['but on other GPUs', {}, 600],
    ['where something has been drawn since the boot', { screens: new Set([board]) }, undefined],
    ['where CPU and GPU have one memory', { report: name('NVIDIA GH200 480GB') }, undefined],
    ['on the newer ones, too', { report: name('NVIDIA GB200') }, undefined],
    ['on a GPU that does not tell', { memory: new Map() }, undefined],
  ])('%s', (_, changes, expected) => {
    expect(usesOf(slot('0', board), sight({ memory, ...changes }))[0]?.memoryMiB).toBe(expected);
  });
});

test('who shares a GPU is who has it in the configuration', () => {
  const slots = [slot('0', board), slot('1', board, 'GPU-2'), slot('2', 'GPU-2')];
  const [use] = usesOf(slot('0', board), sight({ slots, isBusy: (name) => name === '1' }));
  expect([...(use?.sharers ?? [])]).toEqual([['1', { busy: true }]]);
});

describe('what a GPU has idle', () => {
  const memory = new Map([
    [board, { usedMiB: 4, displays: false }],
    ['GPU-2', { usedMiB: 30_000, displays: false }],
  ]);
  const slots = [slot('0', board), slot('1', 'GPU-2')];
  test.each<[string, Partial<Sight>, Record<string, number>]>([
    ['is seen where nobody is', {}, { [board]: 4, 'GPU-2': 30_000 }],
    ['not where somebody is', { processes: [stranger] }, { 'GPU-2': 30_000 }],
    ['not while a job runs', { isBusy: (name) => name === '1' }, { [board]: 4 }],
  ])('%s', (_, changes, expected) => {
    expect(Object.fromEntries(idleMemory(sight({ memory, slots, ...changes })))).toEqual(expected);
  });

  const known = (mib: Record<string, number>) => ({ boot: 'b', mib });
  test.each<[string, Record<string, number>, number, Record<string, number>]>([
    ['the first', {}, 214, { g: 214 }],
    ["not what no driver takes: somebody is there who isn't listed", {}, 1_025, {}],
    ['less than before', { g: 214 }, 211, { g: 211 }],
    ['not more, which could be a leak', { g: 214 }, 250, { g: 214 }],
  ])('counts: %s', (_, before, seen, after) => {
    expect(withIdle(known(before), new Map([['g', seen]])).mib).toEqual(after);
  });
  test('and where nothing new was seen nothing is written', () => {
    const before = known({ g: 3 });
    expect(withIdle(before, new Map([['g', 3]]))).toBe(before);
  });
});
