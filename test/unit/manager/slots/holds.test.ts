import { expect, test } from 'vitest';
import { drainedBy, drainEnd } from '../../../../src/shared/contract/drain.ts';
import { conclude } from '../../../../src/shared/health/checkup.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';
import { parseSmi } from '../../../../src/shared/health/smi-report.ts';
import { type SlotConditions, holdOf } from '../../../../src/manager/slots/holds.ts';
import type { Hold, Slot } from '../../../../src/manager/model.ts';

const slot: Slot = {
  name: '0',
  agent: 'box-0',
  gpus: ['GPU-1'],
  missing: [],
  limits: {},
  uid: 59_000,
  capabilities: [],
  mode: 'container',
  pool: 'gpu-lab',
  image: { kind: 'registry', reference: 'registry.example/agent:1' },
};
const finding = (changes: Partial<Finding>): Finding => ({
  code: 'gpu.lost',
  severity: 'fail',
  what: 'it is lost',
  next: 'reboot',
  ...changes,
});
const smi = parseSmi(
  {
    code: 0,
    output:
      '<nvidia_smi_log><gpu id="83:00.0"><uuid>GPU-1</uuid></gpu><gpu id="84:00.0"><uuid>GPU-2</uuid></gpu></nvidia_smi_log>',
  },
  [],
);
const check = (...findings: readonly Finding[]) => ({
  pci: [],
  ignored: [],
  at: '',
  seenAt: 0,
  checkup: conclude(findings, smi.ok ? smi.report : undefined),
});
const now = (changes: Partial<SlotConditions> = {}): SlotConditions => ({
  host: 'h200-1',
  drain: { slots: {} },
  leaving: false,
  idle: undefined,
  check: check(),
  isCheckOld: false,
  isolation: undefined,
  otherProcesses: undefined,
  unsteady: undefined,
  pool: undefined,
  disk: undefined,
  ...changes,
});
const entry = { reason: 'disk', at: '' };
const otherProcesses: Hold = {
  kind: 'close',
  state: 'waiting',
  cause: { code: 'gpu.in-use', what: '15.6 GiB held by alice', next: 'wait' },
};
const cause = { code: 'azure.auth', what: 'token', next: '' } as const;
const open = { code: 'fence.open', what: 'no rules', next: '' } as const;

test.each([
  ['no problem', slot, now(), undefined, undefined],
  ['the host is drained', slot, now({ drain: { host: entry, slots: {} } }), 'close', 'drained'],
  ['the slot is drained', slot, now({ drain: { slots: { 0: entry } } }), 'close', 'drained'],
  ['another slot is drained', slot, now({ drain: { slots: { 1: entry } } }), undefined, undefined],
  ['the manager is being stopped', slot, now({ leaving: true }), 'close', 'drained'],
  ['no check yet', slot, now({ check: undefined }), 'pause', 'waiting'],
  ['the last check is old', slot, now({ isCheckOld: true }), 'pause', 'waiting'],
  [
    'the last check is old, but it has no GPUs',
    { ...slot, gpus: [] },
    now({ isCheckOld: true }),
    undefined,
    undefined,
  ],
  [
    'its GPU was lost in an old check',
    slot,
    now({ isCheckOld: true, check: check(finding({ gpu: 'GPU-1' })) }),
    'close',
    'quarantined',
  ],
  ['its GPU is lost', slot, now({ check: check(finding({ gpu: 'GPU-1' })) }), 'close', 'quarantined'],
  [
    "another slot's GPU is lost",
    slot,
    now({ check: check(finding({ gpu: 'GPU-2' })) }),
    undefined,
    undefined,
  ],
  [
    'its GPU has only a warning',
    slot,
    now({ check: check(finding({ gpu: 'GPU-1', severity: 'warn' })) }),
    undefined,
    undefined,
  ],
  ['the finding of its GPUs changes often', slot, now({ unsteady: cause }), 'close', 'quarantined'],
  [
    'the machine is idle, and powers itself off',
    slot,
    now({ idle: otherProcesses, check: undefined }),
    'close',
    'waiting',
  ],
  ['its GPU is missing', { ...slot, gpus: [], missing: ['GPU 3'] }, now(), 'close', 'quarantined'],
  ['another process is on its GPU', slot, now({ otherProcesses }), 'close', 'waiting'],
  [
    'its GPU is lost, and another process is on it',
    slot,
    now({ otherProcesses, check: check(finding({ gpu: 'GPU-1' })) }),
    'close',
    'quarantined',
  ],
  [
    'another process is on its GPU, and the pool does not answer',
    slot,
    now({ otherProcesses, pool: cause }),
    'close',
    'waiting',
  ],
  ['the pool does not answer', slot, now({ pool: cause }), 'pause', 'waiting'],
  ['the disk is full', slot, now({ disk: cause }), 'pause', 'waiting'],
  ['required network isolation is missing', slot, now({ isolation: open }), 'close', 'waiting'],
  [
    'required network isolation is missing, before the first GPU check',
    slot,
    now({ isolation: open, check: undefined }),
    'close',
    'waiting',
  ],
  [
    'required network isolation has not been checked',
    slot,
    now({ isolation: { ...open, code: 'fence.unknown' } }),
    'pause',
    'waiting',
  ],
  [
    'drained, with a finding: drained is reported',
    slot,
    now({ drain: { host: entry, slots: {} }, check: check(finding({})) }),
    'close',
    'drained',
  ],
] as const)('%s', (_, about, conditions, kind, state) => {
  const hold = holdOf(about, conditions);
  expect(hold?.kind).toBe(kind);
  expect(hold?.state).toBe(state);
});

test('a finding of one of its GPUs is named before one that is missing', () => {
  const some = { ...slot, missing: ['GPU 3'] };
  expect(holdOf(some, now({ check: check(finding({ gpu: 'GPU-1' })) }))?.cause.code).toBe('gpu.lost');
  expect(holdOf(some, now())?.cause).toMatchObject({ code: 'gpu.missing', what: 'GPU: GPU 3 is missing' });
});

const unread = { ...check(), checkup: conclude([], undefined) };
const host = { ...now(), drain: { host: entry, slots: {} } };

test.each([
  ['a drain', slot, host, { code: 'drained', what: drainedBy(entry), next: drainEnd(entry, 'h200-1') }],
  [
    'a stop of the manager, before a drain',
    slot,
    { ...host, leaving: true },
    { code: 'manager.leaving', what: 'the manager is being stopped', next: 'start it again' },
  ],
  [
    'a finding',
    slot,
    now({ check: check(finding({ gpu: 'GPU-1' })) }),
    { code: 'gpu.lost', what: 'GPU: it is lost', next: 'reboot' },
  ],
  [
    'a finding, before its frequent changes',
    slot,
    now({ check: check(finding({ gpu: 'GPU-1' })), unsteady: cause }),
    { code: 'gpu.lost', what: 'GPU: it is lost', next: 'reboot' },
  ],
  [
    'a missing GPU, without a report of nvidia-smi',
    { ...slot, gpus: [], missing: ['GPU 3', 'GPU 4'] },
    now({ check: unread }),
    {
      code: 'gpu.missing',
      what: 'GPU: GPU 3 is missing',
      next: 'compare nvidia-smi -L on the host with the inventory',
    },
  ],
  ['the pool, before the disk', slot, now({ pool: cause, disk: { ...cause, what: 'full' } }), cause],
  ['an old check, after the disk', slot, now({ isCheckOld: true, disk: cause }), cause],
  [
    'no check yet',
    slot,
    now({ check: undefined, pool: cause }),
    { code: 'health.unknown', what: 'the GPUs have not been checked yet', next: 'wait a moment' },
  ],
])('the cause of %s', (_, about, conditions, expected) => {
  expect(holdOf(about, conditions)?.cause).toEqual(expected);
});
