import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkXids, classifyXid, readXids, unrepaired } from '../../../../src/shared/health/xid.ts';
import { fault } from '../../../support/fault.ts';

const log = `2026-11-20T08:00:01+0000 host kernel: NVRM: loading NVIDIA UNIX Open Kernel Module
2026-11-20T09:00:01+0000 host kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
2026-11-20T09:00:02+0000 host kernel: NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.
[ 1234.5] NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x0)
[ 1235.5] NVRM: Xid (PCI:0000:83:00): 31, pid=4242, name=python, Ch 00000008, MMU Fault
[ 1236.5] NVRM: Xid (PCI:0000:83:00): 31, pid=4243, name=python, Ch 00000008, MMU Fault
[ 1237.5] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up`;

test('XIDs of the kernel log, from journal and dmesg', () => {
  expect(readXids(log).map(({ xid, gpu }) => `${xid} ${gpu}`)).toEqual([
    '79 0000:9b:00.0',
    '79 0000:18:00.0',
    '149 0018:01:00.0',
    '31 0000:83:00.0',
    '31 0000:83:00.0',
  ]);
  expect(readXids(log)[2]?.text).toContain('Link 08');
});

test('a repair removes earlier XIDs, of one GPU or all; XIDs without a time stay', () => {
  const events = readXids(log);
  const left = (gpu: string, at: number) =>
    unrepaired(events, [{ gpu, at }]).map(({ xid, gpu: of }) => `${xid} ${of}`);
  expect(left('0000:83:00.0', 1235.5)).toEqual([
    '79 0000:9b:00.0',
    '79 0000:18:00.0',
    '149 0018:01:00.0',
    '31 0000:83:00.0',
  ]);
  expect(left('all', 2000)).toEqual(['79 0000:9b:00.0', '79 0000:18:00.0']);
  expect(left('all', 1)).toHaveLength(5);
});

test.each([
  ['dmesg', '[  12.000001] NVRM: Xid (PCI:0000:84:00): 79, pid=1, lost'],
  ['dmesg of a kernel that prints the caller', '[  12.000001][ T4242] NVRM: Xid (PCI:0000:84:00): 79, lost'],
  ['the journal', '2026-11-20T09:00:01+0000 host kernel: NVRM: Xid (PCI:0000:84:00): 79, lost'],
  ['syslog', 'Nov 20 09:00:01 host kernel: [  12.000001] NVRM: Xid (PCI:0000:84:00): 79, lost'],
  ['raw kmsg', '<3>NVRM: Xid (PCI:0000:84:00): 79, lost'],
  ['a part of a GPU', '[ 12.0] NVRM: Xid (PCI:0000:84:00 GPU-I:05): 94, contained'],
  [
    'a line with line breaks in the process name',
    '[ 12.0] NVRM: Xid (PCI:0000:84:00): 79, name=a\u2028b\rc, lost',
  ],
  ['without text after the number', '[ 12.0] NVRM: Xid (0000:84:00): 79'],
])('an XID in %s', (_, line) => {
  expect(readXids(line)).toMatchObject([{ gpu: '0000:84:00.0' }]);
});

const forged = 'NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.';
test.each([
  `[ 12.0] Out of memory: Killed process 4242 (${forged})`,
  `[ 12.0] NVRM: Xid (PCI:0000:84:00): 31, pid=4242, name=${forged}`,
  `[ 12.0] traps: ${forged}`,
  `host kernel: ${forged}`,
  ` ${forged}`,
  `[ 12.0]  ${forged}`,
  `[ 12.0] process ${'x'.repeat(1000)} NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.`,
])('a process name forges no error of another GPU: %s', (line) => {
  expect(readXids(line).map(({ gpu }) => gpu)).not.toContain('0000:9b:00.0');
});

fault('forged-xid', 'no process name removes a real error', () => {
  const line = '[ 12.0] NVRM: Xid (PCI:0000:84:00): 79, pid=1, name=azp-fleet: gpu repaired all, lost';
  expect(readXids(line)).toHaveLength(1);
  expect(readXids(`${line}\n[ 13.0] azp-fleet: gpu repaired all`)).toHaveLength(1);
});

test.each([
  [31, 'info'],
  [63, 'reset-when-idle'],
  [79, 'reboot'],
  [94, 'watch'],
  [95, 'reset'],
  [54, 'hardware'],
  [147, 'reset'],
  [9999, 'watch'],
] as const)('XID %i is %s', (xid, kind) => {
  expect(classifyXid(xid).class).toBe(kind);
});

test('one finding for each GPU and number, with UUID and count', () => {
  const findings = checkXids(readXids(log), (busId) => (busId === '0000:83:00.0' ? 'GPU-a' : busId));
  expect(findings.map(({ code, gpu, severity }) => `${code} ${gpu} ${severity}`)).toEqual([
    'xid.79 0000:9b:00.0 fail',
    'xid.79 0000:18:00.0 fail',
    'xid.149 0018:01:00.0 fail',
    'xid.31 GPU-a info',
  ]);
  expect(findings[3]?.what).toContain('2 times');
});

test('any text is read without a throw', () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom('[ 1.0] ', 'NVRM: Xid (PCI:', '): ', '79,', ' GPU-I:', '\n'),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      expect(Array.isArray(readXids(pieces.join('')))).toBe(true);
    }),
  );
});
