import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { examine } from '../../../../src/shared/health/checkup.ts';
import { checkKernelEvents, readKernelEvents } from '../../../../src/shared/health/kernel-events.ts';
import { unrepaired } from '../../../../src/shared/health/xid.ts';

const found = (...lines: readonly string[]) =>
  checkKernelEvents(readKernelEvents(lines.join('\n')), undefined).map(
    ({ severity, code, gpu = 'host' }) => `${severity} ${code} ${gpu}`,
  );

test.each([
  ['NVRM: GPU 0000:84:00.0: RmInitAdapter failed! (0x24:0x65:1185)', 'fail gpu.init-failed 0000:84:00.0'],
  [
    'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up',
    'fail nvswitch.sxid-fatal host',
  ],
  [
    'nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)',
    'info nvswitch.sxid host',
  ],
  ['EXT4-fs (sda1): Remounting filesystem read-only', 'warn host.read-only host'],
  [
    'XFS (dm-0): Corruption of in-memory data (0x8) detected at xfs_trans_cancel.  Shutting down filesystem.',
    'warn host.read-only host',
  ],
  ['XFS (nvme0n1p2): Filesystem has been shut down due to log error (0x2).', 'warn host.read-only host'],
  ['BTRFS info (device sdb1 state E): forced readonly', 'warn host.read-only host'],
  ['EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0', 'warn host.memory-uncorrected host'],
  [
    'Memory failure: 0x12345: recovery action for dirty LRU page: Recovered',
    'warn host.memory-uncorrected host',
  ],
  [
    'mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: b200000000070f0f',
    'warn host.memory-uncorrected host',
  ],
  ['{1}[Hardware Error]: event severity: recoverable', 'warn host.memory-uncorrected host'],
  ['EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0', 'info host.memory-corrected host'],
])('%s', (message, expected) => {
  expect(found(`[   12.000001] ${message}`)).toEqual([expected]);
  expect(found(`2026-11-20T09:00:01+0000 host kernel: ${message}`)).toEqual([expected]);
});

test.each([
  'NVRM: GPU 0000:84:00.0: rm_init_adapter failed, device minor number 0',
  'nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Severity 1 Engine instance 36 Sub-engine instance 00',
  'nvidia-nvswitch0: SXid (PCI:0000:ab:00.0): garbled, Fatal',
  'EXT4-fs (sda1): re-mounted r/w. Quota mode: none.',
  'XFS (sda1): Ending clean mount',
  'BTRFS info (device sdb1): using free-space-tree',
  'EDAC MC0: Giving out device to module i10nm_edac',
  'mce: [Hardware Error]: Machine check events logged',
  'mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 6: 8c00004000010092',
  '{1}[Hardware Error]: event severity: corrected',
  'Out of memory: Killed process 4242 (EXT4-fs (sda1): Remounting filesystem read-only)',
  'traps: nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, x',
])('no finding: %s', (message) => {
  expect(found(`[   12.000001] ${message}`)).toEqual([]);
});

test('equal events are one finding with their number', () => {
  const line = 'EDAC MC1: 1 CE memory read error';
  const [finding, ...others] = checkKernelEvents(readKernelEvents(`${line}\n${line}\n${line}`), undefined);
  expect(finding?.what).toContain('MC1: 1 CE memory read error (3 times)');
  expect(others).toEqual([]);
});

test('a GPU that was initialized later has no finding; one that is not listed has the reason before it is missing', () => {
  const output = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
  const failed = (bus: string) =>
    examine({ code: 0, output, timedOut: false }, 'host', {
      pci: ['0000:83:00.0', '0000:84:00.0', '0000:85:00.0'].slice(0, bus === '85' ? 3 : 2),
      events: readKernelEvents(`[ 9.1] NVRM: GPU 0000:${bus}:00.0: RmInitAdapter failed! (0x24:0x65:1185)`),
    }).findings.map(({ code, gpu }) => `${code} ${gpu}`);
  expect(failed('84')).toEqual([]);
  expect(failed('85')).toEqual(['gpu.init-failed 0000:85:00.0', 'gpu.missing 0000:85:00.0']);
});

test('a repair of a GPU ends its events, a repair of all ends those of the host', () => {
  const events = readKernelEvents(
    '[ 10.0] NVRM: GPU 0000:84:00.0: RmInitAdapter failed! (0x24:0x65:1185)\n[ 11.0] EXT4-fs (sda1): Remounting filesystem read-only',
  );
  const left = (gpu: string, at: number) => unrepaired(events, [{ gpu, at }]).map(({ code }) => code);
  expect(left('0000:84:00.0', 20)).toEqual(['host.read-only']);
  expect(left('all', 20)).toEqual([]);
  expect(left('all', 10.5)).toEqual(['host.read-only']);
});

test('any text is read without a throw, and gives a bounded number of findings of bounded length', () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '[ 1.0] ',
      'EXT4-fs (',
      'XFS (',
      'SXid (PCI:',
      '): ',
      'Remounting filesystem read-only',
      '\n',
    ),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      expect(Array.isArray(readKernelEvents(pieces.join('')))).toBe(true);
    }),
  );
  const many = Array.from(
    { length: 5000 },
    (_, at) => `EXT4-fs (${'x'.repeat(3000)}${at}): Remounting filesystem read-only`,
  );
  const findings = checkKernelEvents(readKernelEvents(many.join('\n')), undefined);
  expect(findings.length).toBeLessThanOrEqual(100);
  expect(Math.max(...findings.map(({ what }) => what.length))).toBeLessThan(500);
});
