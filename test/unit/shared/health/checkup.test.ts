import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { blocker, examine, examineWithoutGpus } from '../../../../src/shared/health/checkup.ts';
import { readXids } from '../../../../src/shared/health/xid.ts';

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../fixtures/nvidia-smi/${name}`, import.meta.url), 'utf8');
const ran = (output: string, code = 0, timedOut = false): Parameters<typeof examine>[0] => ({
  code,
  output,
  timedOut,
});

const pair = fixture('h200-pair-v13.xml');
const oneLost = fixture('h200-pair-one-lost-v13.xml');
const mig = fixture('a100-mig-v12-with-listing.txt');
const dead = 'Unable to determine the device handle for GPU 0000:83:00.0: Unknown Error';
const alone = pair.replace(/<gpu id[\s\S]*?<\/gpu>/, '');
/** The listing fails because of the first GPU; then the answer of each GPU to its own query. */
const each = (first: string, code: number, second = alone) => ({
  ...ran(dead, 255),
  alone: ran(
    `azp-fleet: gpu 0000:83:00.0 exit ${code}\n${first}\nazp-fleet: gpu 0000:84:00.0 exit 0\n${second}\nazp-fleet: more\n`,
  ),
});
const pci = ['0000:83:00.0', '0000:84:00.0'];
const [first, second] = [
  'GPU-00000001-0000-4000-8000-000000000001',
  'GPU-00000002-0000-4000-8000-000000000002',
];

test.each([
  ['healthy', examine(ran(pair), 'container', { pci, gpus: 2 }), ''],
  [
    'failed',
    examine(ran(oneLost), 'container', { pci }),
    'GPU-00000001: temperature.gpu_temp: [GPU is lost] (and 3 more)',
  ],
  [
    'degraded',
    examine(ran(fixture('t4-hot-v11.xml').replace('<total>2</total>', '<total>0</total>')), 'host', {
      pci: [],
    }),
    'GPU-00000003: a bad memory page is retired',
  ],
  ['hung', examine(ran('', 137, true), 'container', { pci }), 'does not answer'],
  [
    'failed',
    examine(ran(pair), 'container', { pci: [...pci, '0000:85:00.0'] }),
    'GPU 0000:85:00.0: it is on the PCI bus',
  ],
  ['failed', examine(ran(pair), 'container', { pci, gpus: 8 }), '2 of 8 GPUs'],
  ['failed', examine(ran('no xml, but exit 0'), 'container', { pci }), 'cannot be parsed'],
  ['degraded', examine(ran(pair, 14), 'host', { pci }), 'InfoROM'],
  ['healthy', examine(ran(`${pair}\nazp-fleet: cuInit exit 0 0\n`), 'container', { pci }), ''],
  [
    'failed',
    examine(ran(`${pair}\nazp-fleet: cuInit exit 0 802\n`), 'container', { pci }),
    'CUDA is not ready (error 802): the fabric manager has not connected the GPUs',
  ],
  [
    'failed',
    examine(ran(`${oneLost}\nazp-fleet: cuInit exit 0 999\n`), 'container', { pci }),
    'GPU-00000001: temperature.gpu_temp: [GPU is lost] (and 3 more)',
  ],
  ['healthy', examineWithoutGpus(undefined), ''],
  ['healthy', examineWithoutGpus(0), ''],
  ['failed', examineWithoutGpus(1), '0 of 1 GPUs'],
])('%s', (state, { verdict }, cause) => {
  expect(verdict.state).toBe(state);
  expect(verdict.cause).toContain(cause);
  expect(verdict.next === '').toBe(state === 'healthy');
});

test.each([
  ['a100-sxm4-v12', ['gpu.persistence warn']],
  ['gtx-1070-ti', []],
  ['quadro-p2000-v12', ['gpu.pcie-width info']],
  ['rtx-3080-v13', ['gpu.persistence warn']],
  ['rtx-4000-sff-ada-v13', []],
  ['tesla-t4', ['gpu.persistence warn', 'gpu.pcie-width info']],
])('a real, working machine: %s', (name, expected) => {
  const { findings, report } = examine(ran(fixture(`real/${name}.xml`)), 'host', { pci: [] });
  expect(report?.gpus).toHaveLength(1);
  expect(findings.map(({ code, severity }) => `${code} ${severity}`)).toEqual(expected);
});

test('an XID is reported with the UUID of the GPU at its address', () => {
  const xids = readXids('NVRM: Xid (PCI:0000:84:00): 95, uncontained');
  const { findings, verdict } = examine(ran(pair), 'host', { pci, xids });
  expect(findings).toMatchObject([{ code: 'xid.95', gpu: second, severity: 'fail' }]);
  expect(verdict.cause).toMatch(/^GPU-00000002: XID 95/);
});

test('a GPU that fell off the bus is not also one that nvidia-smi does not list', () => {
  const xids = readXids('NVRM: Xid (PCI:0000:85:00): 79, GPU has fallen off the bus.');
  const { verdict } = examine(ran(pair), 'host', { pci: [...pci, '0000:85:00.0'], xids });
  expect(verdict).toMatchObject({
    cause: 'GPU 0000:85:00.0: XID 79 in the kernel log: the GPU has fallen off the bus',
    next: 'drain and reboot the host; if the fault returns, check the hardware',
  });
});

test.each([
  ['of its instance', 'GPU-I:04', 94, 'MIG-bbbbbbbb-0000-5000-8000-000000000001'],
  ['of no instance', 'GPU-I:09', 94, 'GPU-00000004-0000-4000-8000-000000000004'],
  ['that needs a reset of the GPU', 'GPU-I:04', 95, 'GPU-00000004-0000-4000-8000-000000000004'],
])('an XID under MIG is reported by its name: %s', (_, part, xid, name) => {
  const xids = readXids(`NVRM: Xid (PCI:0000:01:00 ${part}): ${xid}, pid=1, name=python`);
  const { findings } = examine(ran(mig), 'host', { pci: [], xids });
  expect(findings).toContainEqual(expect.objectContaining({ code: `xid.${xid}`, gpu: name }));
});

test.each([
  ['differ', ['96.00.A5.00.03', '96.00.74.00.01'], ['gpu.vbios-differs info']],
  ['are equal', ['96.00.A5.00.03', '96.00.A5.00.03'], []],
  ['are unknown for one', ['96.00.A5.00.03', 'N/A'], []],
])('the VBIOS versions of a pair %s', (_, versions, expected) => {
  const [one = '', two = ''] = versions;
  const output = pair.replace(/<gpu id[\s\S]*<\/gpu>/, (gpus) => {
    const rest = [one, two];
    return gpus.replaceAll('</uuid>', () => `</uuid><vbios_version>${rest.shift()}</vbios_version>`);
  });
  const { findings, verdict } = examine(ran(output), 'host', { pci });
  expect(findings.map(({ code, severity }) => `${code} ${severity}`)).toEqual(expected);
  expect(verdict.state).toBe('healthy');
});

describe('blockers of a slot', () => {
  test.each<[string, ReturnType<typeof examine>, readonly string[], string | undefined]>([
    ['a finding about its own GPU', examine(ran(oneLost), 'host', { pci }), [first], 'gpu.lost'],
    ['not a finding about another GPU', examine(ran(oneLost), 'host', { pci }), [second], undefined],
    ['not a count', examine(ran(pair), 'host', { pci, gpus: 8 }), [first], undefined],
    ['not a warning', examine(ran(pair, 14), 'host', { pci }), [first], undefined],
    ['a hang stops all', examine(ran('', 0, true), 'host', { pci }), [second], 'smi.hung'],
    [
      'a listing that fails because of one GPU stops all',
      examine(ran('Unable to determine the device handle for GPU 0000:83:00.0: Unknown Error', 255), 'host', {
        pci,
      }),
      [second],
      'gpu.unreachable',
    ],
    ['a GPU that is not listed', examine(ran(pair), 'host', { pci }), ['GPU-9'], 'gpu.missing'],
    ['one of several', examine(ran(oneLost), 'host', { pci }), [second, first], 'gpu.lost'],
    [
      'the GPU that makes the listing fail, after a query for each GPU',
      examine(each(dead, 15), 'host', { pci }),
      [first],
      'gpu.missing',
    ],
    ['not the other', examine(each(dead, 15), 'host', { pci }), [second], undefined],
    [
      'the board of its MIG device',
      examine(ran(mig), 'host', { pci: [] }),
      ['MIG-bbbbbbbb-0000-5000-8000-000000000001'],
      'gpu.recovery-action',
    ],
    ['a missing MIG device', examine(ran(mig), 'host', { pci: [] }), ['MIG-9'], 'gpu.missing'],
    ['nothing stops a slot without GPUs', examine(ran('', 9), 'host', { pci }), [], undefined],
  ])('%s', (_, checkup, gpus, code) => {
    expect(blocker(checkup, gpus)?.code).toBe(code);
  });
});
