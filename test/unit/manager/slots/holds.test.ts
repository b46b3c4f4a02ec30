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
const look = (...findings: readonly Finding[]) => ({
  pci: [],
  ignored: [],
  at: '',
  seenAt: 0,
  checkup: conclude(findings, smi.ok ? smi.report : undefined),
});
const now = (changes: Partial<SlotConditions> = {}): SlotConditions => ({
  drain: { slots: {} },
  leaving: false,
  idle: undefined,
  look: look(),
  isCheckOld: false,
  fence: undefined,
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
  ['nothing is wrong', slot, now(), undefined, undefined],
  ['the host is drained', slot, now({ drain: { host: entry, slots: {} } }), 'close', 'drained'],
  ['the slot is drained', slot, now({ drain: { slots: { 0: entry } } }), 'close', 'drained'],
  ['another slot is drained', slot, now({ drain: { slots: { 1: entry } } }), undefined, undefined],
  ['the manager is being stopped', slot, now({ leaving: true }), 'close', 'drained'],
  ['nobody has looked yet', slot, now({ look: undefined }), 'pause', 'waiting'],
  ['the last look is old', slot, now({ isCheckOld: true }), 'pause', 'waiting'],
  [
    'the last look is old, but it has no GPUs',
    { ...slot, gpus: [] },
    now({ isCheckOld: true }),
    undefined,
    undefined,
  ],
  [
    'its GPU was lost at a look that is old now',
    slot,
    now({ isCheckOld: true, look: look(finding({ gpu: 'GPU-1' })) }),
    'close',
    'quarantined',
  ],
  ['its GPU is lost', slot, now({ look: look(finding({ gpu: 'GPU-1' })) }), 'close', 'quarantined'],
  ["another slot's GPU is lost", slot, now({ look: look(finding({ gpu: 'GPU-2' })) }), undefined, undefined],
  [
    'its GPU is only warm',
    slot,
    now({ look: look(finding({ gpu: 'GPU-1', severity: 'warn' })) }),
    undefined,
    undefined,
  ],
  ['its GPUs come and go', slot, now({ unsteady: cause }), 'close', 'quarantined'],
  ['its GPU is not shown', { ...slot, gpus: [], missing: ['GPU 3'] }, now(), 'close', 'quarantined'],
  ['somebody is on its GPU', slot, now({ otherProcesses }), 'close', 'waiting'],
  [
    'its GPU is lost, and somebody is on it',
    slot,
    now({ otherProcesses, look: look(finding({ gpu: 'GPU-1' })) }),
    'close',
    'quarantined',
  ],
  [
    'somebody is on its GPU, and the pool does not answer',
    slot,
    now({ otherProcesses, pool: cause }),
    'close',
    'waiting',
  ],
  ['the pool does not answer', slot, now({ pool: cause }), 'pause', 'waiting'],
  ['the disk is full', slot, now({ disk: cause }), 'pause', 'waiting'],
  ['a fence that is required does not stand', slot, now({ fence: open }), 'close', 'waiting'],
  [
    'the same before the first look at the GPUs',
    slot,
    now({ fence: open, look: undefined }),
    'close',
    'waiting',
  ],
  [
    'a fence that is required has not been looked at',
    slot,
    now({ fence: { ...open, code: 'fence.unknown' } }),
    'pause',
    'waiting',
  ],
  [
    'drained and sick: drained is said',
    slot,
    now({ drain: { host: entry, slots: {} }, look: look(finding({})) }),
    'close',
    'drained',
  ],
] as const)('%s', (_, about, circumstances, kind, state) => {
  const hold = holdOf(about, circumstances);
  expect(hold?.kind).toBe(kind);
  expect(hold?.state).toBe(state);
});

const blind = { ...look(), checkup: conclude([], undefined) };
const host = { ...now(), drain: { host: entry, slots: {} } };

test.each([
  ['a drain', slot, host, { code: 'drained', what: drainedBy(entry), next: drainEnd(entry) }],
  [
    'a stop of the manager, before a drain',
    slot,
    { ...host, leaving: true },
    { code: 'manager.leaving', what: 'the manager is being stopped', next: 'start it again' },
  ],
  [
    'a finding',
    slot,
    now({ look: look(finding({ gpu: 'GPU-1' })) }),
    { code: 'gpu.lost', what: 'GPU: it is lost', next: 'reboot' },
  ],
  [
    'a finding, before that it comes and goes',
    slot,
    now({ look: look(finding({ gpu: 'GPU-1' })), unsteady: cause }),
    { code: 'gpu.lost', what: 'GPU: it is lost', next: 'reboot' },
  ],
  [
    'a GPU that is not there, though nothing could be read',
    { ...slot, gpus: [], missing: ['GPU 3', 'GPU 4'] },
    now({ look: blind }),
    {
      code: 'gpu.missing',
      what: 'GPU: GPU 3 is missing',
      next: 'compare nvidia-smi -L on the host with the inventory',
    },
  ],
  ['the pool, before the disk', slot, now({ pool: cause, disk: { ...cause, what: 'full' } }), cause],
  ['an old look, after the disk', slot, now({ isCheckOld: true, disk: cause }), cause],
  [
    'no look yet',
    slot,
    now({ look: undefined, pool: cause }),
    { code: 'health.unknown', what: 'the GPUs have not been checked yet', next: 'wait a moment' },
  ],
])('what is told of %s', (_, about, circumstances, told) => {
  expect(holdOf(about, circumstances)?.cause).toEqual(told);
});
