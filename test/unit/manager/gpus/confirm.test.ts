import { expect, test } from 'vitest';
import { type Checkup, conclude } from '../../../../src/shared/health/checkup.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';
import { parseSmi } from '../../../../src/shared/health/smi-report.ts';
import { confirmed, exclusiveShared, withOverdue } from '../../../../src/manager/gpus/watch.ts';

const finding = (code: Finding['code'], gpu?: string, severity: Finding['severity'] = 'fail'): Finding => ({
  code,
  severity,
  what: code,
  next: '',
  ...(gpu === undefined ? {} : { gpu }),
});
const gpu = (bus: string): string => `<gpu id="0000:${bus}:00.0"><uuid>GPU-${bus}</uuid></gpu>`;
const report = (...buses: readonly string[]) => {
  const output = `<nvidia_smi_log>${buses.map(gpu).join('')}</nvidia_smi_log>`;
  const parsed = parseSmi({ code: 0, output }, []);
  return parsed.ok ? parsed.report : undefined;
};
const both = report('83', '84');
const well = conclude([], both);
const ill = conclude([finding('gpu.ecc-uncorrected', 'GPU-84')], both);
const blind = (...found: readonly Finding[]) => conclude(found, undefined);
const summary = (checkup: Checkup | undefined) => [
  ...(checkup?.findings ?? []).map(({ severity, code, gpu: at }) => `${severity} ${code} ${at ?? 'all'}`),
  `sees ${checkup?.report?.gpus.map(({ uuid }) => uuid).join(' ') ?? 'nothing'}`,
];

test.each<[string, Checkup, readonly Finding[], Checkup | undefined, readonly string[]]>([
  ['no finding', well, [], well, ['sees GPU-83 GPU-84']],
  [
    'the host, for the first time: earlier findings stay',
    blind(finding('smi.failed')),
    [],
    ill,
    ['fail gpu.ecc-uncorrected GPU-84', 'warn smi.failed all', 'sees GPU-83 GPU-84'],
  ],
  [
    'for the second time',
    blind(finding('smi.failed')),
    [finding('smi.failed')],
    ill,
    ['fail smi.failed all', 'sees nothing'],
  ],
  [
    'for the second time, with another failure',
    blind(finding('smi.hung')),
    [finding('driver.mismatch')],
    well,
    ['fail smi.hung all', 'sees nothing'],
  ],
  [
    'after a warning',
    blind(finding('smi.failed')),
    [finding('driver.no-uvm', undefined, 'warn')],
    well,
    ['warn smi.failed all', 'sees GPU-83 GPU-84'],
  ],
  [
    'for the first time, without earlier results',
    blind(finding('smi.failed')),
    [],
    undefined,
    ['sees nothing'],
  ],
  ['one GPU: at once', ill, [], well, ['fail gpu.ecc-uncorrected GPU-84', 'sees GPU-83 GPU-84']],
  [
    'the number of GPUs: it closes no slot',
    conclude([finding('gpu.count')], both),
    [],
    well,
    ['fail gpu.count all', 'sees GPU-83 GPU-84'],
  ],
  [
    'the host, with an XID of a GPU: the finding has its UUID',
    blind(finding('smi.failed'), finding('xid.79', '0000:84:00.0')),
    [],
    well,
    ['fail xid.79 GPU-84', 'warn smi.failed all', 'sees GPU-83 GPU-84'],
  ],
  [
    'the host, after a repair of the XID',
    blind(finding('smi.failed')),
    [],
    conclude([finding('xid.79', 'GPU-84')], both),
    ['warn smi.failed all', 'sees GPU-83 GPU-84'],
  ],
  [
    'nvidia-smi for one GPU: earlier findings of that GPU stay',
    conclude([finding('smi.failed', '0000:84:00.0')], report('83')),
    [],
    conclude([finding('gpu.ecc-uncorrected', 'GPU-84'), finding('gpu.lost', 'GPU-83')], both),
    ['fail gpu.ecc-uncorrected GPU-84', 'warn smi.failed GPU-84', 'sees GPU-83 GPU-84'],
  ],
  [
    'nvidia-smi for one GPU, for the second time',
    conclude([finding('smi.failed', '0000:84:00.0')], report('83')),
    [finding('smi.failed', '0000:84:00.0')],
    well,
    ['fail smi.failed 0000:84:00.0', 'sees GPU-83'],
  ],
  [
    'nvidia-smi for one GPU, before for the other',
    conclude([finding('smi.failed', '0000:84:00.0')], report('83')),
    [finding('smi.failed', '0000:83:00.0')],
    well,
    ['warn smi.failed GPU-84', 'sees GPU-83 GPU-84'],
  ],
  [
    'nvidia-smi for one GPU, before for all',
    conclude([finding('smi.failed', '0000:84:00.0')], report('83')),
    [finding('smi.failed')],
    well,
    ['fail smi.failed 0000:84:00.0', 'sees GPU-83'],
  ],
])('a failure of %s', (_, now, last, before, expected) => {
  expect(summary(confirmed(now, last, before))).toEqual(expected);
});

const starting = conclude(
  [
    { ...finding('gpu.fabric-starting', 'GPU-83', 'warn'), what: 'it starts' },
    finding('gpu.hot', 'GPU-84', 'warn'),
  ],
  both,
);

test.each<[string, readonly (readonly [minute: number, checkup: Checkup])[], string]>([
  [
    'less than 2 min',
    [
      [0, starting],
      [1.9, starting],
    ],
    'warn it starts',
  ],
  [
    '2 min',
    [
      [0, starting],
      [1, starting],
      [2, starting],
    ],
    'fail it starts, for more than 2 min',
  ],
  [
    'it was ready in between',
    [
      [0, starting],
      [1, well],
      [2, starting],
    ],
    'warn it starts',
  ],
  [
    'nvidia-smi failed in between',
    [
      [0, starting],
      [1, blind()],
      [2, starting],
    ],
    'fail it starts, for more than 2 min',
  ],
])('a fabric that does not start fails its GPU after 2 min: %s', (_, checks, expected) => {
  let lasting: Parameters<typeof withOverdue>[1] = new Map();
  let last = well;
  for (const [minute, checkup] of checks) {
    const judged = withOverdue(checkup, lasting, { at: minute * 60_000, minuteMs: 60_000 });
    ({ checkup: last, lasting } = judged);
  }
  expect(last.findings.map(({ severity, what }) => `${severity} ${what}`).toSorted()).toEqual(
    [expected, 'warn gpu.hot'].toSorted(),
  );
  expect(last.verdict.state).toBe(expected.startsWith('fail') ? 'failed' : 'degraded');
});

test.each([
  ['Exclusive_Process', ['GPU-83', 'GPU-83'], ['gpu.compute-exclusive GPU-83']],
  ['Exclusive_Process', ['GPU-83', 'GPU-84'], []],
  ['Default', ['GPU-83', 'GPU-83'], []],
  ['N/A', ['GPU-83', 'GPU-83'], []],
])('compute mode %s, with slots on %j', (mode, gpus, expected) => {
  const output = `<nvidia_smi_log>${gpu('83').replace('</gpu>', `<compute_mode>${mode}</compute_mode></gpu>`)}${gpu('84')}</nvidia_smi_log>`;
  const parsed = parseSmi({ code: 0, output }, []);
  const slots = gpus.map((uuid, at) => ({ name: String(at), gpus: [uuid] }));
  const found = exclusiveShared(slots, parsed.ok ? parsed.report : undefined);
  expect(found.map(({ code, gpu: at }) => `${code} ${at}`)).toEqual(expected);
});
