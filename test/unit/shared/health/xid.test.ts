import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkXids, classifyXid, isFatal, readXids, unrepaired } from '../../../../src/shared/health/xid.ts';
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
  [14, 'info'],
  [80, 'info'],
  [108, 'info'],
  [152, 'info'],
  [153, 'info'],
  [9999, 'watch'],
] as const)('XID %i is %s', (xid, kind) => {
  expect(classifyXid(xid).class).toBe(kind);
});

/** Texts as NVSentinel and gpud have them in their cases. */
test.each([
  [144, 'SAW_MVB Nonfatal XC0 i0 Link 00 (0x00000001 0x00000001)', 'watch'],
  [145, 'RLW_SRC_TRACK Nonfatal XC1 i0 Link 10 (0x00000004 0x00000040)', 'watch'],
  [146, 'TLW_RX  Nonfatal   XC0 i0 Link 03 (0x00000001)', 'watch'],
  [147, 'TREX Nonfatal XC0 i0 Link 03 (0x00000001)', 'watch'],
  [148, 'NVLPW_CTRL Nonfatal XC0 i0 Link 03 (0x00000001)', 'watch'],
  [149, 'NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226)', 'watch'],
  [150, 'MSE Nonfatal XC0 i0 Link 03 (0x00000001)', 'watch'],
  [149, 'NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6)', 'reset'],
  [149, 'pid=1, name=NETIR_BER_EVENT Nonfatal, NETIR_LINK_EVT Fatal XC0', 'reset'],
  [149, 'SAW_MVB Nonfatal XC0: the mnemonic of another number', 'reset'],
  [149, 'NETIR_BER_EVENT Nonfatally', 'reset'],
  [149, 'Nonfatal', 'reset'],
  [149, '', 'reset'],
  [79, 'SAW_MVB Nonfatal XC0', 'reboot'],
] as const)('XID %i with the text "%s" is %s', (xid, text, kind) => {
  expect(classifyXid(xid, text).class).toBe(kind);
});

const nonfatal =
  '[ 20.0] NVRM: Xid (PCI:0018:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226)';

test('an NVLink error that was not fatal hides no fatal one of its number, before or after it', () => {
  const fatal = '[ 10.0] NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6)';
  const found = (...lines: readonly string[]) =>
    checkXids(readXids(lines.join('\n')), (busId) => busId).map(
      ({ severity, what }) => `${severity}: ${what}`,
    );
  expect(found(nonfatal, nonfatal)).toEqual([
    'warn: XID 149 in the kernel log, 2 times: an NVLink error that was not fatal',
  ]);
  const both = ['fail: XID 149 in the kernel log: an NVLink error'];
  expect(found(fatal, nonfatal, nonfatal)).toEqual(both);
  expect(found(nonfatal, fatal)).toEqual(both);
});

test.each([
  ['an application error', 'GPU-I:05', 31, '0000:84:00.0 5'],
  ['a contained memory error', 'GPU-I:05 GPU-CI:01', 94, '0000:84:00.0 5.1'],
  ['an error that needs a reset, which resets all instances', 'GPU-I:05', 95, '0000:84:00.0'],
  ['an application error of the whole GPU', '', 31, '0000:84:00.0'],
])('a finding is about a MIG instance or the GPU: %s', (_, part, xid, name) => {
  const line = `[ 12.0] NVRM: Xid (PCI:0000:84:00${part === '' ? '' : ` ${part}`}): ${xid}, pid=1`;
  const [found] = checkXids(readXids(line), (busId, at) =>
    [
      busId,
      ...(at === undefined ? [] : [[at.gpuInstance, at.computeInstance].filter(Number.isInteger).join('.')]),
    ].join(' '),
  );
  expect(found?.gpu).toBe(name);
});

test('no error of a single MIG instance stops a GPU', () => {
  const numbers = Array.from({ length: 1000 }, (_, xid) => xid);
  const ofInstances = numbers.filter((xid) => classifyXid(xid).scope === 'instance');
  expect(ofInstances).toContain(94);
  expect(ofInstances.filter((xid) => isFatal({ xid, gpu: '', text: '' }))).toEqual([]);
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
