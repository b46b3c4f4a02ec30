import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { diagnose, type Diagnosis } from '../../../../src/cli/diagnose/saved.ts';
import { examine } from '../../../../src/shared/health/checkup.ts';
import { kernelForms, kernelLog } from '../../../support/kernel-logs.ts';

const fixture = (name: string): string => readFileSync(`test/fixtures/nvidia-smi/${name}`, 'utf8');
const saved = (text: string | Buffer, size = 1000): Promise<Diagnosis> => {
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  return diagnose(Readable.from(chunks));
};
const codes = (diagnosis: Diagnosis): readonly string[] | undefined =>
  'checkup' in diagnosis ? diagnosis.checkup.findings.map(({ code }) => code) : undefined;

const dead = "NVRM: Xid (PCI:0000:84:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
const gone = 'NVRM: GPU 0000:84:00.0: GPU has fallen off the bus.';

describe.each(Object.entries(kernelForms))('a kernel log of %s', (_, form) => {
  test.each([dead, gone])('with a dead GPU: %s', async (message) => {
    const diagnosis = await saved(kernelLog(form, [message]));
    expect(diagnosis).toMatchObject({
      kind: 'kernel-log',
      kernelLines: 5,
      checkup: { verdict: { state: 'failed' } },
    });
    expect(codes(diagnosis)).toEqual(['xid.79']);
  });

  test('with a fatal error of an NVSwitch', async () => {
    const line = 'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up';
    const diagnosis = await saved(kernelLog(form, [line]));
    expect(codes(diagnosis)).toEqual(['nvswitch.sxid-fatal']);
    expect(diagnosis).toMatchObject({ checkup: { verdict: { state: 'failed' } } });
  });

  test('without a fault', async () => {
    const diagnosis = await saved(kernelLog(form));
    expect(diagnosis).toMatchObject({ kind: 'kernel-log', kernelLines: 4 });
    expect(codes(diagnosis)).toEqual([]);
  });

  test('with Windows line ends', async () => {
    expect(codes(await saved(kernelLog(form, [dead]).replaceAll('\n', '\r\n')))).toEqual(['xid.79']);
  });
});

test.each([
  ['a letter', 'Dear kernel:\n\nhow are you?\n', 'neither output of nvidia-smi nor a kernel log'],
  ['an empty file', '', 'the file is empty'],
  ['a binary', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 10, 0, 255]), 'a binary file'],
  ['JSON', '{"name": "azp-fleet"}', 'neither output of nvidia-smi nor a kernel log'],
  [
    'the journal as JSON, with an XID',
    '{"MESSAGE":"NVRM: Xid (PCI:0000:84:00): 48, DBE"}\n',
    'neither output of nvidia-smi nor a kernel log',
  ],
])('%s is not judged', async (_, text, reason) => {
  expect(await saved(text)).toEqual({ kind: 'unknown', reason });
});

test('many NVLink errors that were not fatal hide no fatal one', async () => {
  const xid = (text: string) => `NVRM: Xid (PCI:0018:01:00): 149, ${text} XC0 i0 Link 03 (0x00086226)`;
  const mild = Array.from({ length: 1500 }, () => xid('NETIR_BER_EVENT Nonfatal'));
  const form = kernelForms['dmesg'] ?? String;
  const state = async (messages: readonly string[]) => {
    const diagnosis = await saved(kernelLog(form, messages), 100_000);
    return 'checkup' in diagnosis ? diagnosis.checkup.verdict.state : undefined;
  };
  expect(await state(mild)).toBe('degraded');
  expect(await state([...mild, xid('NETIR_LINK_EVT Fatal')])).toBe('failed');
});

test('zeroes that a crash left in a log do not hide an error', async () => {
  const text = kernelLog(kernelForms['syslog'] ?? String, [dead]);
  expect(codes(await saved(text.replace(/^(?=.*Xid)/m, '\0'.repeat(3000))))).toEqual(['xid.79']);
});

test('an XID in a line of another form is reported as not read', async () => {
  const log = kernelLog(kernelForms['dmesg -T'] ?? String);
  const diagnosis = await saved(`${log}${dead}\n`);
  expect(diagnosis).toMatchObject({
    checkup: { verdict: { state: 'degraded', cause: expect.stringContaining('1 line') } },
  });
  expect(codes(diagnosis)).toEqual(['diagnose.incomplete']);
});

describe('nvidia-smi', () => {
  const xml = fixture('h200-pair-v13.xml');
  const query = fixture('h200-pair-query.txt');
  const table = fixture('h200-pair-table.txt');

  test.each([
    ['nvidia-smi -q -x', xml],
    ['nvidia-smi -q', query],
    ['nvidia-smi', table],
  ])('%s: what it held', async (form, text) => {
    const diagnosis = await saved(text);
    expect(diagnosis).toMatchObject({ kind: 'nvidia-smi', form, gpus: 2 });
    expect(codes(diagnosis)).toEqual([]);
  });

  test('the text has the same values as the XML', async () => {
    const [ofText, ofXml] = [await saved(query), await saved(xml)];
    if (!('checkup' in ofText) || !('checkup' in ofXml)) throw new Error('no diagnosis');
    expect(ofText.checkup.report?.gpus[0]).toEqual(ofXml.checkup.report?.gpus[0]);
    expect(ofText).toMatchObject({ attachedGpus: 2, checkup: { report: { driverVersion: '595.84' } } });
  });

  test.each([
    [
      'Recovery Action                   : None',
      'Recovery Action                   : Reset',
      'gpu.recovery-action',
    ],
    ['DRAM Uncorrectable            : 0', 'DRAM Uncorrectable            : 2', 'gpu.ecc-uncorrected'],
    ['SEC-DED    : 0', 'SEC-DED    : 1', 'gpu.ecc-uncorrected'],
    [
      'Pending                           : No',
      'Pending                           : Yes',
      'gpu.remap-pending',
    ],
    ['Failure Occurred        : No', 'Failure Occurred        : Yes', 'gpu.remap-failure'],
    ['Blacklist            : N/A', 'Blacklist            : Yes', 'gpu.retirement-pending'],
    ['Current Temp                  : 28 C', 'Current Temp                  : [GPU is lost]', 'gpu.lost'],
    ['T.Limit Temp                  : 59 C', 'T.Limit Temp                  : -1 C', 'gpu.hot'],
    ['Thermal Slowdown           : Not Active', 'Thermal Slowdown           : Active', 'gpu.slowed-heat'],
    [
      'Compute Mode                          : Default',
      'Compute Mode : Prohibited',
      'gpu.compute-prohibited',
    ],
    [
      'Current Power Limit               : 700.00 W',
      'Current Power Limit : 500.00 W\n        Default Power Limit : 700.00 W',
      'gpu.power-capped',
    ],
    ['Brake Slowdown       : Not Active', 'Brake Slowdown       : Active', 'gpu.slowed-power'],
    ['Current                   : 16x', 'Current                   : 4x', 'gpu.pcie-width'],
    [
      'Persistence Mode                      : Enabled',
      'Persistence Mode                      : Disabled',
      'gpu.persistence',
    ],
    [
      'State                             : Completed',
      'State                             : Not Started',
      'gpu.fabric',
    ],
  ])('a fault in the text: %s → %s', async (before, after, code) => {
    expect(codes(await saved(query.replace(before, after)))).toContain(code);
  });

  test('MIG devices in the text', async () => {
    const on = query.replace(/MIG Mode\n {8}Current( +): Disabled/, 'MIG Mode\n        Current$1: Enabled');
    expect(codes(await saved(on))).toEqual(['gpu.mig-empty']);
    const device = '    MIG Device\n        Index                             : 0\n';
    expect(codes(await saved(on.replace('    GPU UUID', `${device}    GPU UUID`)))).toEqual([]);
  });

  test.each([
    ['errors', /(84:00.0 Off \| +)0 \|/, '$12 |', 'gpu.ecc-uncorrected'],
    ['a failed value', /29C {4}P0/, 'ERR!  P0', 'gpu.value-error'],
    ['a lost GPU', /84:00.0 Off \| +0 \|/, '84:00.0 Off |          GPU is lost |', 'gpu.lost'],
  ])('a fault in the table: %s', async (_, before, after, code) => {
    const broken = table.replace(before, after);
    expect(broken).not.toBe(table);
    const diagnosis = await saved(broken);
    expect(diagnosis).toMatchObject({
      gpus: 2,
      checkup: { verdict: { cause: expect.stringContaining('84:00.0') } },
    });
    expect(codes(diagnosis)).toEqual([code]);
  });

  test('a table without GPUs is not healthy', async () => {
    const empty = table.replaceAll(/^\| {3}\d .*\n.*\n.*\n/gm, '');
    expect(codes(await saved(empty))).toEqual(['diagnose.incomplete']);
  });

  test.each([
    ['of a dead GPU', 'Unable to determine the device handle for GPU0000:84:00.0: GPU is lost.', 'gpu.lost'],
    ['without a driver', 'No devices were found', 'gpu.none-found'],
    [
      'of a dead GPU, before the rest',
      `Unable to determine the device handle for GPU\n${query}`,
      'gpu.unreachable',
    ],
  ])('a failed nvidia-smi %s', async (_, text, code) => {
    expect(codes(await saved(text))).toContain(code);
  });

  const name = (text: string): string => query.replace(': python', `: ${text}`);
  const gpu = query.slice(query.indexOf('GPU 00000000:84'));
  test.each([
    ['a GPU', `x\n${gpu}`],
    ['a fault of the same GPU', 'x\n    GPU Recovery Action                   : Reset'],
    ['another number of GPUs', 'x\nAttached GPUs                             : 7'],
    ['another list of processes', 'x\n    Processes                             : None'],
    ['an XML report', 'x\n<nvidia_smi_log></nvidia_smi_log>'],
    ['a message', 'x\nUnable to determine the device handle for GPU 0000:83:00.0: GPU is lost'],
  ])('a process name that looks like %s changes no GPU', async (_, text) => {
    const found = codes(await saved(name(text)));
    expect(found?.filter((code) => !['smi.ambiguous', 'smi.unreadable'].includes(code))).toEqual([]);
  });
});

describe('nvidia-bug-report.log', () => {
  const rule = '_'.repeat(44);
  const journal = kernelForms['journalctl -k'] ?? String;
  const dmesg = kernelForms['dmesg'] ?? String;
  interface Parts {
    readonly messages?: readonly string[];
    readonly earlier?: readonly string[];
    readonly smi?: string;
    readonly end?: string;
    readonly processes?: string;
  }
  const report = ({
    messages = [],
    earlier = [],
    smi = fixture('h200-pair-query.txt'),
    ...parts
  }: Parts = {}) =>
    [
      rule,
      '',
      'Start of NVIDIA bug report log file.  Please include this file, along',
      'with a detailed description of your problem, when reporting a graphics',
      '',
      'nvidia-bug-report.sh Version: 36571239',
      rule,
      '',
      '*** /etc/issue',
      'Debian GNU/Linux 12',
      rule,
      '',
      'ps:',
      parts.processes ?? '',
      rule,
      '',
      'Scanning kernel log files for NVIDIA kernel messages:',
      '',
      '  journalctl -b -0:',
      kernelLog(journal, messages),
      '  journalctl -b -1:',
      kernelLog(journal, earlier),
      rule,
      '',
      'dmesg:',
      '',
      kernelLog(dmesg, messages),
      rule,
      '',
      '/usr/bin/nvidia-smi --query',
      '',
      smi,
      '/usr/bin/nvidia-smi --query --unit',
      '',
      rule,
      '',
      parts.end ?? 'End of NVIDIA bug report log file.',
      '',
    ].join('\n');

  test.each([
    ['as text', (text: string) => text],
    ['as gzip', (text: string) => gzipSync(text)],
    [
      'as several gzips, as the script writes it',
      (text: string) => Buffer.concat([gzipSync(text.slice(0, 900)), gzipSync(text.slice(900))]),
    ],
  ])('%s: GPUs and kernel messages', async (_, as) => {
    for (const size of [1, 1000]) {
      expect(await saved(as(report()), size)).toMatchObject({
        kind: 'bug-report',
        gpus: 2,
        attachedGpus: 2,
        kernelLines: 8,
        checkup: { verdict: { state: 'healthy' } },
      });
    }
    const broken = await saved(as(report({ messages: [dead] })));
    expect(broken).toMatchObject({
      checkup: { findings: [{ code: 'xid.79', gpu: 'GPU-00000002-0000-4000-8000-000000000002' }] },
    });
    expect(JSON.stringify(broken)).not.toContain('2 times');
  });

  test('an error of an earlier boot does not count', async () => {
    expect(codes(await saved(report({ earlier: [dead] })))).toEqual([]);
  });

  test('an error in a list of processes does not count', async () => {
    const processes = kernelLog(dmesg, [dead]);
    expect(codes(await saved(report({ processes })))).toEqual([]);
  });

  test.each([
    ['without an end', report({ end: '' }), ['diagnose.incomplete']],
    ['cut', gzipSync(report()).subarray(0, -20), ['diagnose.incomplete']],
    [
      'damaged',
      Buffer.concat([gzipSync(report()), Buffer.from([0x1f, 0x8b, 8, 0xff, 1, 2])]),
      ['diagnose.incomplete'],
    ],
    [
      'without nvidia-smi',
      report({ smi: '' }).replace('nvidia-smi --query\n', 'true\n'),
      ['diagnose.incomplete'],
    ],
    [
      'without a kernel log',
      report().replace('dmesg:', 'x').replace('Scanning', 'x'),
      ['diagnose.incomplete'],
    ],
    ['of a failed nvidia-smi', report({ smi: 'No devices were found' }), ['gpu.none-found']],
  ])('%s is not healthy', async (_, text, expected) => {
    expect(codes(await saved(text))).toEqual(expected);
  });

  test.each([
    `x\n${rule}\n\ndmesg:\n\n[   12.000001] ${dead}`,
    `x\n            Used GPU Memory               : 1 MiB\n${rule}\n\ndmesg:\n\n[   12.000001] ${dead}`,
  ])('a process name that leaves its section is reported', async (name) => {
    const smi = fixture('h200-pair-query.txt').replace(': python', `: ${name}`);
    expect(codes(await saved(report({ smi })))).toContain('smi.ambiguous');
  });
});

test('the recorded XML is judged as the host judges it', async () => {
  const text = fixture('h200-pair-one-lost-v13.xml');
  const diagnosis = await saved(text);
  expect('checkup' in diagnosis && diagnosis.checkup).toEqual(
    examine({ code: 0, output: text, timedOut: false }, 'host', { pci: [] }),
  );
});
