import { expect, test } from 'vitest';
import type { ProcessFacts } from '../../../../src/manager/machine/process.ts';
import type { Judgement } from '../../../../src/manager/tenants/judge.ts';
import type { Tenant } from '../../../../src/manager/tenants/tenant.ts';
import type { Whose } from '../../../../src/manager/tenants/whose.ts';
import { causeOf } from '../../../../src/manager/tenants/words.ts';

const gpu = 'GPU-513536b6-7d19-9063-b049-1e69664bb298';
const now = new Date(2026, 10, 22, 15, 30).getTime();
const at = (day: number, hours: number, minutes: number): number =>
  new Date(2026, 10, day, hours, minutes).getTime();

function on(
  changes: Partial<ProcessFacts & { login: string }> = {},
  usedMiB: number | undefined = 15_974,
  whose: Whose = { kind: 'stranger' },
): Tenant {
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
const held = (by: readonly Tenant[], memoryMiB?: number): Judgement => ({ kind: 'held', gpu, by, memoryMiB });
const naming = { name: () => 'train.py', now, tellGpu: false };

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
    '1.0 GiB held by what a job left, which was killed: a job of slot 0, train.py (4121, state D) since 14:02',
  ],
  [
    'nobody',
    { kind: 'unseen', gpu, by: [], memoryMiB: 9_011 },
    '8.8 GiB held by no process that can be seen',
  ],
  [
    'one that cannot be seen',
    {
      kind: 'unseen',
      gpu,
      by: [{ gpu, pid: 77, usedMiB: 512, whose: { kind: 'unseen' } }],
      memoryMiB: undefined,
    },
    '512 MiB held by process 77, which cannot be seen',
  ],
])('%s', (_, judgement, what) => {
  expect(causeOf(judgement, naming)?.what).toBe(`waits: ${what}`);
});

test('of several GPUs of a slot the one is named', () => {
  expect(causeOf(held([on()]), { ...naming, tellGpu: true })?.what).toMatch(
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

test('nothing is said of a GPU that is free', () => {
  expect(causeOf({ kind: 'clean' }, naming)).toBeUndefined();
});
