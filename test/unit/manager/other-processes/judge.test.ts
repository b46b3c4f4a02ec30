import { describe, expect, test } from 'vitest';
import {
  causeOf,
  type Hanging,
  hangingFindings,
  hangingNow,
  judge,
  type Judgement,
  leftOf,
} from '../../../../src/manager/other-processes/judge.ts';
import type { GpuUse, GpuProcess } from '../../../../src/manager/other-processes/gpu-use.ts';
import type { Owner } from '../../../../src/manager/other-processes/owners.ts';
import type { ProcessFacts } from '../../../../src/manager/machine/process.ts';

const each = (pid: number, owner: Owner, usedMiB = 500): GpuProcess => ({
  gpu: 'GPU-1',
  pid,
  usedMiB,
  owner,
});
const foreign = each(1, { kind: 'foreign' });
const service = each(2, { kind: 'service' }, 30);
const own = each(3, { kind: 'run', slot: '0', live: true });
const otherSlot = each(4, { kind: 'run', slot: '1', live: true });
const left = each(5, { kind: 'run', slot: '0', live: false });
const inContainer = each(6, { kind: 'foreign', container: 'c'.repeat(64) });
const unknown = each(8, { kind: 'unknown' });
const hidden = each(7, { kind: 'hidden' });

const use = (processes: readonly GpuProcess[], changes: Partial<GpuUse> = {}): GpuUse => ({
  gpu: 'GPU-1',
  isPart: false,
  processes,
  memoryMiB: processes.reduce((sum, { usedMiB = 0 }) => sum + usedMiB, 0) + 20,
  baselineMiB: 0,
  sharers: new Map(),
  ...changes,
});
const shared = (busy: boolean) => new Map([['1', { busy }]]);
const part = (
  memoryMiB: number | undefined,
  processes: readonly GpuProcess[],
  changes: Partial<GpuUse> = {},
) => use(processes, { gpu: 'MIG-1', isPart: true, memoryMiB, baselineMiB: 9, ...changes });

const seen = (what: ReturnType<typeof judge>): string =>
  what.kind === 'clean' ? 'clean' : [what.kind, what.gpu, ...what.by.map(({ pid }) => pid)].join(' ');

describe('a slot with one GPU', () => {
  test.each<[string, GpuUse, string]>([
    ['no process', use([]), 'clean'],
    ['the driver and its daemons', use([service]), 'clean'],
    ['processes of its run', use([own]), 'clean'],
    ["another user's process", use([foreign]), 'held GPU-1 1'],
    ["a daemon and another user's process", use([service, foreign]), 'held GPU-1 1'],
    ["another user's container", use([inContainer]), 'held GPU-1 6'],
    ['leftovers of its run', use([left]), 'left GPU-1 5'],
    ["leftovers and another user's process", use([left, foreign]), 'held GPU-1 1'],
    ['the job of a slot that does not share it', use([otherSlot]), 'held GPU-1 4'],
    ['the job of a slot that shares it', use([otherSlot], { sharers: shared(true) }), 'clean'],
    ['a container while Docker does not answer', use([unknown]), 'clean'],
    ['a hidden process', use([hidden]), 'hidden GPU-1 7'],
    ['a hidden process beside the job of a sharer', use([hidden], { sharers: shared(true) }), 'clean'],
    ['memory without a process', use([], { memoryMiB: 9_000 }), 'hidden GPU-1'],
    ['a daemon and memory without a process', use([service], { memoryMiB: 9_000 }), 'hidden GPU-1'],
    ['the tolerance', use([], { memoryMiB: 100 }), 'clean'],
    ['more than the tolerance', use([], { memoryMiB: 101 }), 'hidden GPU-1'],
    ['its baseline', use([], { memoryMiB: 450, baselineMiB: 440 }), 'clean'],
    [
      "without a baseline: the driver's memory",
      use([], { memoryMiB: 1024, baselineMiB: undefined }),
      'clean',
    ],
    [
      "without a baseline: more than the driver's memory",
      use([], { memoryMiB: 1025, baselineMiB: undefined }),
      'hidden GPU-1',
    ],
    ['unknown memory', use([], { memoryMiB: undefined }), 'clean'],
    [
      'a daemon with unknown memory',
      use([{ gpu: 'GPU-1', pid: 2, owner: { kind: 'service' } }], { memoryMiB: 9_000 }),
      'clean',
    ],
    ['memory beside the job of a sharer', use([], { memoryMiB: 9_000, sharers: shared(true) }), 'clean'],
    ['memory beside an idle sharer', use([], { memoryMiB: 9_000, sharers: shared(false) }), 'hidden GPU-1'],
  ])('%s', (_, on, expected) => {
    expect(seen(judge('0', [on], { useDocker: false }))).toBe(expected);
  });
});

describe('an unknown container, if jobs may start containers', () => {
  test.each<[string, GpuUse, string]>([
    ['beside the job of a sharer', use([inContainer], { sharers: shared(true) }), 'clean'],
    ['beside an idle sharer', use([inContainer], { sharers: shared(false) }), 'held GPU-1 6'],
    ['without sharers', use([inContainer]), 'held GPU-1 6'],
  ])('%s', (_, on, expected) => {
    expect(seen(judge('0', [on], { useDocker: true }))).toBe(expected);
  });
  test('a process outside containers is held', () => {
    expect(seen(judge('0', [use([foreign], { sharers: shared(true) })], { useDocker: true }))).toBe(
      'held GPU-1 1',
    );
  });
});

describe('a MIG device is judged by its memory', () => {
  test.each<[string, GpuUse, string]>([
    ['idle', part(9, []), 'clean'],
    ['idle beside processes on the board', part(17, [foreign, otherSlot, hidden]), 'clean'],
    ['in use, with processes on the board', part(2_200, [foreign, otherSlot]), 'held MIG-1 1'],
    ['in use without a listed process', part(2_200, []), 'hidden MIG-1'],
    ['unknown', part(undefined, [foreign]), 'clean'],
    ['with leftovers of its run on the board', part(9, [left]), 'left MIG-1 5'],
    ['shared with a job', part(2_200, [otherSlot], { sharers: shared(true) }), 'clean'],
  ])('%s', (_, on, expected) => {
    expect(seen(judge('0', [on], { useDocker: false }))).toBe(expected);
  });
});

test('of several GPUs the one with another process is reported first', () => {
  const both = [
    use([], { memoryMiB: 9_000 }),
    use([left], { gpu: 'GPU-2' }),
    use([foreign], { gpu: 'GPU-3' }),
  ];
  expect(seen(judge('0', both, { useDocker: false }))).toBe('held GPU-3 1');
  expect(seen(judge('0', both.slice(0, 2), { useDocker: false }))).toBe('left GPU-2 5');
});

test('only leftovers of ended runs are killed', () => {
  expect(leftOf([foreign, service, own, otherSlot, left, inContainer, hidden])).toEqual([left]);
});

const gpu = 'GPU-513536b6-7d19-9063-b049-1e69664bb298';
const now = new Date(2026, 10, 22, 15, 30).getTime();
const at = (day: number, hours: number, minutes: number): number =>
  new Date(2026, 10, day, hours, minutes).getTime();

function on(
  changes: Partial<ProcessFacts & { login: string }> = {},
  usedMiB: number | undefined = 15_974,
  owner: Owner = { kind: 'foreign' },
): GpuProcess {
  const process = {
    pid: 4121,
    parent: 1,
    uid: 1000,
    comm: 'python3',
    state: 'S',
    startTicks: 1,
    startedAt: at(22, 14, 2),
    cgroups: [],
    login: 'alice',
    ...changes,
  };
  return { gpu, pid: process.pid, ...(Number.isNaN(usedMiB) ? {} : { usedMiB }), process, owner };
}
const held = (by: readonly GpuProcess[], memoryMiB?: number): Judgement => ({
  kind: 'held',
  gpu,
  by,
  memoryMiB,
});
const naming = { name: () => 'train.py', now, namesGpu: false };

test.each<[string, Judgement, string]>([
  ['one process', held([on()]), '15.6 GiB held by alice, train.py (4121) since 14:02'],
  ['less than a GiB', held([on({}, 300)]), '300 MiB held by alice, train.py (4121) since 14:02'],
  ['memory unknown', held([on({}, Number.NaN)]), 'memory held by alice, train.py (4121) since 14:02'],
  [
    'since another day',
    held([on({ startedAt: at(20, 9, 5) })]),
    '15.6 GiB held by alice, train.py (4121) since 2026-11-20 09:05',
  ],
  [
    'in a container',
    held([on({ login: 'root' }, 1024, { kind: 'foreign', container: 'c'.repeat(64) })]),
    '1.0 GiB held by root, train.py (4121) in container cccccccccccc since 14:02',
  ],
  [
    'a job of a slot that does not share it',
    held([on({}, 2048, { kind: 'run', slot: 'bare', live: true })]),
    '2.0 GiB held by a job of slot bare, train.py (4121) since 14:02',
  ],
  [
    'a hung process',
    held([on({ state: 'D' })]),
    '15.6 GiB held by alice, train.py (4121, state D) since 14:02',
  ],
  [
    'many processes: the largest are named',
    held([on({ pid: 1 }, 100), on({ pid: 2 }, 900), on({ pid: 3 }, 800), on({ pid: 4 }, 700)]),
    '2.4 GiB held by alice, train.py (2) since 14:02; alice, train.py (3) since 14:02; alice, train.py (4) since 14:02; 1 more',
  ],
  [
    'on a MIG device, with its memory in use',
    held([on()], 3_072),
    '3.0 GiB held by alice, train.py (4121) since 14:02',
  ],
  [
    'of an ended run',
    {
      kind: 'left',
      gpu,
      by: [on({ login: 'uid 4000', state: 'D' }, 1024, { kind: 'run', slot: '0', live: false })],
    },
    '1.0 GiB held by killed leftovers of a job: a job of slot 0, train.py (4121, state D) since 14:02',
  ],
  ['no process', { kind: 'hidden', gpu, by: [], memoryMiB: 9_011 }, '8.8 GiB held by no visible process'],
  [
    'a hidden process',
    {
      kind: 'hidden',
      gpu,
      by: [{ gpu, pid: 77, usedMiB: 512, owner: { kind: 'hidden' } }],
      memoryMiB: undefined,
    },
    '512 MiB held by process 77, which is hidden',
  ],
])('%s', (_, judgement, what) => {
  expect(causeOf(judgement, naming)?.what).toBe(`waits: ${what}`);
});

test('the GPU is named if the slot has several', () => {
  expect(causeOf(held([on()]), { ...naming, namesGpu: true })?.what).toMatch(
    /^waits: GPU-513536b6: 15\.6 GiB held by /,
  );
});

test('names of processes are cleaned and cut', () => {
  const name = (): string => `\u001b[31mtrain\nby: root ${'x'.repeat(500)}`;
  const what = causeOf(held([on()]), { ...naming, name })?.what ?? '';
  expect(what).toMatch(/^waits: 15\.6 GiB held by alice, train by: root x{10,60}… \(4121\) since 14:02$/);
});

test('the next action names the processes, and the GPU to reset', () => {
  expect(causeOf(held([on(), on({ pid: 5 })]), naming)?.next).toContain('(ps -fp 4121,5 on the host)');
  expect(causeOf({ kind: 'hidden', gpu, by: [], memoryMiB: 1 }, naming)?.next).toContain(
    `--gpu-reset -i ${gpu}`,
  );
});

test('a free GPU has no cause', () => {
  expect(causeOf({ kind: 'clean' }, naming)).toBeUndefined();
});

describe('a process that hangs in the kernel', () => {
  const minute = 60_000;
  const inState = (state: string, startTicks = 40): GpuProcess => ({
    ...own,
    process: {
      pid: 3,
      parent: 1,
      uid: 4000,
      login: 'alice',
      comm: 'python3',
      state,
      startTicks,
      startedAt: 0,
      cgroups: [],
    },
  });

  test.each<[string, readonly (readonly [minute: number, process: GpuProcess])[], string[]]>([
    [
      'for 5 min',
      [
        [0, inState('D')],
        [3, inState('D')],
        [5, inState('D')],
      ],
      ['gpu.process-hangs'],
    ],
    [
      'for less',
      [
        [0, inState('D')],
        [3, inState('D')],
        [4.9, inState('D')],
      ],
      [],
    ],
    [
      'not in one of the checks',
      [
        [0, inState('D')],
        [3, inState('S')],
        [5, inState('D')],
      ],
      [],
    ],
    [
      'no more',
      [
        [0, inState('D')],
        [5, inState('D')],
        [6, inState('S')],
      ],
      [],
    ],
    [
      'another one with its pid',
      [
        [0, inState('D')],
        [5, inState('D', 90)],
      ],
      [],
    ],
    [
      'one that is hidden',
      [
        [0, own],
        [5, own],
      ],
      [],
    ],
  ])('%s', (_, checks, expected) => {
    let hanging: Hanging = new Map();
    for (const [at, process] of checks) hanging = hangingNow(hanging, [process], at * minute);
    const last = checks.at(-1)?.[0] ?? 0;
    const found = hangingFindings(hanging, last * minute, minute);
    expect(found.map(({ code }) => code)).toEqual(expected);
    for (const { what, gpu } of found)
      expect([gpu, what]).toEqual(['GPU-1', expect.stringContaining('python3 (3) of alice')]);
  });
});
