import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KernelLog, type KernelLogReading } from '../../../../src/cli/diagnose/kernel-log.ts';
import { readXids } from '../../../../src/shared/health/xid.ts';
import { kernelForms, kernelLog } from '../../../support/kernel-logs.ts';

// Colors are taken away before.
const forms = Object.entries(kernelForms).filter(([name]) => name !== 'dmesg with colors');

function read(text: string): KernelLogReading | undefined {
  const log = new KernelLog();
  for (const line of text.split('\n')) log.take(line);
  return log.reading();
}

const gpusIn = (text: string) => read(text)?.xids.map(({ gpu }) => gpu) ?? [];

const dead = "NVRM: Xid (PCI:0000:84:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
const forged = 'NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.';
const other = 'NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.';

/** Lines of the kernel in which the name of a process, or of a file, is. */
const frames: readonly ((name: string) => string)[] = [
  (name) => `Out of memory: Killed process 4242 (${name}) total-vm:1024kB`,
  (name) => `NVRM: Xid (PCI:0000:84:00): 31, pid=4242, name=${name}, Ch 00000008, MMU Fault`,
  (name) => `traps: ${name}[4242] trap invalid opcode ip:1 sp:2 error:0`,
  (name) => `audit: type=1326 audit(1.1:2): pid=1 comm="${name}" exe="/tmp/${name}"`,
];

/** What a name may look like: each prefix of a form, with what follows it. */
const names: readonly string[] = [
  forged,
  other,
  ...Object.values(kernelForms).flatMap((form) => [form(forged, 7), form(other, 7)]),
];

describe.each(forms)('hostile names in %s', (name, form) => {
  const isBare = form('', 1) === '';

  test('no process name reports another GPU', () => {
    for (const hostile of isBare ? names : [...names, ...names.map((each) => `x\n${each}`)]) {
      const text = kernelLog(
        form,
        frames.map((frame) => frame(hostile)),
      );
      expect(new Set(gpusIn(text)), hostile).toEqual(new Set(['0000:84:00.0']));
      if (name === 'dmesg') expect(readXids(text).map(({ gpu }) => gpu)).not.toContain('0000:9b:00.0');
    }
  });

  test('a message that begins like a line of another form is no error', () => {
    const text = kernelLog(form, [`x kernel: ${forged}`, `[   12.000001] ${forged}`]);
    expect(gpusIn(text)).toEqual([]);
  });

  test('no process name hides a real error', () => {
    for (const hostile of names) {
      expect(gpusIn(kernelLog(form, [frames[0]?.(hostile) ?? '', dead]))).toEqual(['0000:84:00.0']);
    }
  });
});

test('any names in any form: only the GPU that the kernel names', () => {
  const word = fc.oneof(
    fc.constantFrom(...names, 'kernel: ', 'h200-1 ', '[   12.000001] ', '\t', ' ', '): 79, '),
    fc.string({ maxLength: 6 }),
  );
  const hostile = fc.array(word, { maxLength: 5 }).map((words) => words.join('').replaceAll(/[\n\r]/g, ' '));
  fc.assert(
    fc.property(
      fc.constantFrom(...forms),
      fc.array(fc.tuple(fc.constantFrom(...frames), hostile), { maxLength: 6 }),
      ([, form], lines) => {
        const text = kernelLog(form, [...lines.map(([frame, name]) => frame(name)), dead]);
        expect(new Set(gpusIn(text))).toEqual(new Set(['0000:84:00.0']));
      },
    ),
  );
});

test('a name on a line of its own is no error in a log with prefixes, and is counted', () => {
  const log = kernelLog(kernelForms['dmesg -T'] ?? String);
  expect(read(`${log}${forged}\n`)).toMatchObject({ form: 'dmesg -T', xids: [], unread: 1 });
});

test('a line with a prefix is no error in a log without prefixes, and is counted', () => {
  const log = kernelLog(String);
  expect(read(`${log}[   12.000001] ${forged}\n`)).toMatchObject({ xids: [], unread: 1 });
});

test('logs of several forms one after the other', () => {
  const [one, two] = [kernelForms['dmesg -T'] ?? String, kernelForms['journalctl -k'] ?? String];
  const text = kernelLog(one) + kernelLog(two, [dead]) + kernelLog(two);
  expect(read(text)).toMatchObject({ form: 'journalctl -k', lines: 13, unread: 0 });
  expect(gpusIn(text)).toEqual(['0000:84:00.0']);
});

test('a flood of one error does not hide another', () => {
  const flood = Array.from({ length: 5000 }, () => 'NVRM: Xid (PCI:0000:84:00): 31, MMU Fault');
  const reading = read([...flood, dead].map((message) => `[   12.000001] ${message}`).join('\n'));
  expect(reading?.xids.length).toBeLessThan(2000);
  expect(reading?.xids.at(-1)).toMatchObject({ xid: 79 });
});

test.each([
  ['a letter', 'Dear kernel:\n\nNov 27 was a nice day. NVRM: is a strange name, and so is kernel: foo.\n'],
  ['the log of an X server', '[    12.345] (II) NVIDIA(0): NVIDIA GPU NVIDIA H200 at PCI:131:0:0\n'],
  ['a log of other programs', 'Nov 27 21:04:14 h200-1 sshd[1]: kernel: hello\n'],
  ['nothing', ''],
])('%s is no kernel log', (_, text) => {
  expect(read(text)).toBeUndefined();
});
