import { describe, expect, test } from 'vitest';
import { causeOf, judge, type Judgement, leftOf } from '../../../../src/manager/other-processes/judge.ts';
import type { GpuUse, GpuProcess } from '../../../../src/manager/other-processes/gpu-use.ts';
import type { Whose } from '../../../../src/manager/other-processes/owners.ts';
import type { ProcessFacts } from '../../../../src/manager/machine/process.ts';

const each = (pid: number, whose: Whose, usedMiB = 500): GpuProcess => ({
  gpu: 'GPU-1',
  pid,
  usedMiB,
  whose,
});
const stranger = each(1, { kind: 'stranger' });
const service = each(2, { kind: 'service' }, 30);
const own = each(3, { kind: 'run', slot: '0', live: true });
const theirs = each(4, { kind: 'run', slot: '1', live: true });
const left = each(5, { kind: 'run', slot: '0', live: false });
const boxed = each(6, { kind: 'stranger', container: 'c'.repeat(64) });
const untold = each(8, { kind: 'unknown' });
const unseen = each(7, { kind: 'unseen' });

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
    ['nobody', use([]), 'clean'],
    ['the driver and its daemons', use([service]), 'clean'],
    ['the processes of its own run', use([own]), 'clean'],
    ['somebody else', use([stranger]), 'held GPU-1 1'],
    ['somebody else beside a daemon', use([service, stranger]), 'held GPU-1 1'],
    ["somebody else's container", use([boxed]), 'held GPU-1 6'],
    ['what its own run left', use([left]), 'left GPU-1 5'],
    ['both: who lives is told', use([left, stranger]), 'held GPU-1 1'],
    ['the job of a slot that has no right to it', use([theirs]), 'held GPU-1 4'],
    ['the job of a slot that shares it', use([theirs], { sharers: shared(true) }), 'clean'],
    ['a container while Docker is away', use([untold]), 'clean'],
    ['a process that is gone or cannot be seen', use([unseen]), 'unseen GPU-1 7'],
    ['the same while a job of another slot runs there', use([unseen], { sharers: shared(true) }), 'clean'],
    ['memory without a process', use([], { memoryMiB: 9_000 }), 'unseen GPU-1'],
    ['memory beside that of a daemon', use([service], { memoryMiB: 9_000 }), 'unseen GPU-1'],
    ['the tolerance', use([], { memoryMiB: 100 }), 'clean'],
    ['more than the tolerance', use([], { memoryMiB: 101 }), 'unseen GPU-1'],
    ['what it always has', use([], { memoryMiB: 450, baselineMiB: 440 }), 'clean'],
    [
      "never seen idle: the driver's own at most",
      use([], { memoryMiB: 1024, baselineMiB: undefined }),
      'clean',
    ],
    ['never seen idle: more', use([], { memoryMiB: 1025, baselineMiB: undefined }), 'unseen GPU-1'],
    ['memory that is not known', use([], { memoryMiB: undefined }), 'clean'],
    [
      'a daemon whose memory is not known: nor is that of others',
      use([{ gpu: 'GPU-1', pid: 2, whose: { kind: 'service' } }], { memoryMiB: 9_000 }),
      'clean',
    ],
    [
      'memory while a job of another slot runs there',
      use([], { memoryMiB: 9_000, sharers: shared(true) }),
      'clean',
    ],
    [
      'memory while one may, but does not',
      use([], { memoryMiB: 9_000, sharers: shared(false) }),
      'unseen GPU-1',
    ],
  ])('%s', (_, on, expected) => {
    expect(seen(judge('0', [on], { useDocker: false }))).toBe(expected);
  });
});

describe('an unknown container, where jobs may start containers', () => {
  test.each<[string, GpuUse, string]>([
    ['while a job runs on the GPU that shares it', use([boxed], { sharers: shared(true) }), 'clean'],
    ['while none does', use([boxed], { sharers: shared(false) }), 'held GPU-1 6'],
    ['where nobody shares it', use([boxed]), 'held GPU-1 6'],
  ])('%s', (_, on, expected) => {
    expect(seen(judge('0', [on], { useDocker: true }))).toBe(expected);
  });
  test('is no excuse for what is in no container', () => {
    expect(seen(judge('0', [use([stranger], { sharers: shared(true) })], { useDocker: true }))).toBe(
      'held GPU-1 1',
    );
  });
});

describe('a part of a GPU is judged by its own memory', () => {
  test.each<[string, GpuUse, string]>([
    ['idle', part(9, []), 'clean'],
    ['idle beside others on the board', part(17, [stranger, theirs, unseen]), 'clean'],
    ['taken, and who is on the board', part(2_200, [stranger, theirs]), 'held MIG-1 1'],
    ['taken by nobody that is listed', part(2_200, []), 'unseen MIG-1'],
    ['not known', part(undefined, [stranger]), 'clean'],
    ['with what its own run left on the board', part(9, [left]), 'left MIG-1 5'],
    ['shared with a job', part(2_200, [theirs], { sharers: shared(true) }), 'clean'],
  ])('%s', (_, on, expected) => {
    expect(seen(judge('0', [on], { useDocker: false }))).toBe(expected);
  });
});

test('of several GPUs the one with another process is reported first', () => {
  const both = [
    use([], { memoryMiB: 9_000 }),
    use([left], { gpu: 'GPU-2' }),
    use([stranger], { gpu: 'GPU-3' }),
  ];
  expect(seen(judge('0', both, { useDocker: false }))).toBe('held GPU-3 1');
  expect(seen(judge('0', both.slice(0, 2), { useDocker: false }))).toBe('left GPU-2 5');
});

test('killed is what ended runs left, and nothing else', () => {
  expect(leftOf([stranger, service, own, theirs, left, boxed, unseen])).toEqual([left]);
});

const gpu = 'GPU-513536b6-7d19-9063-b049-1e69664bb298';
const now = new Date(2026, 10, 22, 15, 30).getTime();
const at = (day: number, hours: number, minutes: number): number =>
  new Date(2026, 10, day, hours, minutes).getTime();

function on(
  changes: Partial<ProcessFacts & { login: string }> = {},
  usedMiB: number | undefined = 15_974,
  whose: Whose = { kind: 'stranger' },
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
  return { gpu, pid: process.pid, ...(Number.isNaN(usedMiB) ? {} : { usedMiB }), process, whose };
}
const held = (by: readonly GpuProcess[], memoryMiB?: number): Judgement => ({
  kind: 'held',
  gpu,
  by,
  memoryMiB,
});
const naming = { name: () => 'train.py', now, namesGpu: false };

test.each<[string, Judgement, string]>([
  ['one', held([on()]), '15.6 GiB held by alice, train.py (4121) since 14:02'],
  ['less than a GiB', held([on({}, 300)]), '300 MiB held by alice, train.py (4121) since 14:02'],
  ['memory unknown', held([on({}, Number.NaN)]), 'memory held by alice, train.py (4121) since 14:02'],
  [
    'since another day',
    held([on({ startedAt: at(20, 9, 5) })]),
    '15.6 GiB held by alice, train.py (4121) since 2026-11-20 09:05',
  ],
  [
    'in a container',
    held([on({ login: 'root' }, 1024, { kind: 'stranger', container: 'c'.repeat(64) })]),
    '1.0 GiB held by root, train.py (4121) in container cccccccccccc since 14:02',
  ],
  [
    'a job of ours without a right to it',
    held([on({}, 2048, { kind: 'run', slot: 'bare', live: true })]),
    '2.0 GiB held by a job of slot bare, train.py (4121) since 14:02',
  ],
  ['that hangs', held([on({ state: 'D' })]), '15.6 GiB held by alice, train.py (4121, state D) since 14:02'],
  [
    'many: the largest are named',
    held([on({ pid: 1 }, 100), on({ pid: 2 }, 900), on({ pid: 3 }, 800), on({ pid: 4 }, 700)]),
    '2.4 GiB held by alice, train.py (2) since 14:02; alice, train.py (3) since 14:02; alice, train.py (4) since 14:02; 1 more',
  ],
  [
    'on a part, with what the part has in use',
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
  ['nobody', { kind: 'unseen', gpu, by: [], memoryMiB: 9_011 }, '8.8 GiB held by no visible process'],
  [
    'one that cannot be seen',
    {
      kind: 'unseen',
      gpu,
      by: [{ gpu, pid: 77, usedMiB: 512, whose: { kind: 'unseen' } }],
      memoryMiB: undefined,
    },
    '512 MiB held by process 77, which is hidden',
  ],
])('%s', (_, judgement, what) => {
  expect(causeOf(judgement, naming)?.what).toBe(`waits: ${what}`);
});

test('of several GPUs of a slot the one is named', () => {
  expect(causeOf(held([on()]), { ...naming, namesGpu: true })?.what).toMatch(
    /^waits: GPU-513536b6: 15\.6 GiB held by /,
  );
});

test('names that processes choose are cleaned, and short', () => {
  const name = (): string => `\u001b[31mtrain\nby: root ${'x'.repeat(500)}`;
  const what = causeOf(held([on()]), { ...naming, name })?.what ?? '';
  expect(what).toMatch(/^waits: 15\.6 GiB held by alice, train by: root x{10,60}… \(4121\) since 14:02$/);
});

test('the next action names the processes, and the GPU that is to be reset', () => {
  expect(causeOf(held([on(), on({ pid: 5 })]), naming)?.next).toContain('(ps -fp 4121,5 on the host)');
  expect(causeOf({ kind: 'unseen', gpu, by: [], memoryMiB: 1 }, naming)?.next).toContain(
    `--gpu-reset -i ${gpu}`,
  );
});

test('a free GPU has no cause', () => {
  expect(causeOf({ kind: 'clean' }, naming)).toBeUndefined();
});
