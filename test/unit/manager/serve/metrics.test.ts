// The metrics as a scraper reads them: each family once and complete, with any label values.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import { foreignCode } from '../../../../src/shared/base/codes/code.ts';
import { Metrics } from '../../../../src/manager/serve/metrics.ts';
import { readExposition, type Family } from '../../../support/exposition.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { promtool } from '../../../support/promtool.ts';

const disk = { freeBytes: 1.5e12, totalBytes: 2_000_398_934_016, freeInodes: 1 };
const cause = (code: string) => ({ code: foreignCode(code), what: '', next: '' });

function status(changes: Partial<ManagerStatus> = {}): ManagerStatus {
  const slot = { gpus: [], pool: 'gpus', since: '', jobsRun: 0 };
  const finding = { what: '', next: '' };
  return managerStatus({
    version: '1.2.3',
    at: '',
    host: 'gpu-1',
    pool: { name: 'gpus' },
    pools: [{ name: 'gpus', up: false }],
    configHash: '',
    image: { state: 'ready', digest: 'sha256:1' },
    slots: [
      { ...slot, slot: '0', agent: 'gpu-1-0', state: 'busy', gpus: ['GPU-1'] },
      { ...slot, slot: '1', agent: 'gpu-1-1', state: 'idle', gpus: ['GPU-1', 'MIG-1'] },
      { ...slot, slot: '2', agent: 'gpu-1-2', state: 'waiting', awaySince: '2026-11-22T07:00:00.500Z' },
    ],
    health: {
      state: 'degraded',
      gpus: [
        {
          uuid: 'GPU-1',
          name: 'H200',
          temperatureC: 64,
          memoryUsedMiB: 2,
          memoryTotalMiB: 4,
          utilizationPercent: 98,
          powerW: 412.5,
          throttled: true,
        },
        { uuid: 'GPU-2', name: 'H200', mig: [{ uuid: 'MIG-1', memoryUsedMiB: 1, memoryTotalMiB: 2 }] },
      ],
      findings: [
        { ...finding, code: 'gpu.lost', gpu: '0000:83:00.0', severity: 'fail' },
        { ...finding, code: 'smi.slow', severity: 'warn' },
      ],
    },
    problems: [{ code: 'azure.auth', what: '', next: '' }],
    ...changes,
  });
}

const use = {
  samples: 3,
  sampledS: 60,
  meanUtilizationPercent: 60,
  peakMemoryMiB: 10 * 1024,
  energyWh: 2,
};
const boards = new Map([
  ['GPU-1', { utilizationPercent: 50, powerW: 400, throttled: 1 }],
  ['GPU-2', { utilizationPercent: 0, memoryMiB: 7 }],
]);

/** Returns metrics after several runs of several slots, in turn. */
function used(slots: readonly string[] = ['0', '1'], code = 'run.failed'): Metrics {
  const metrics = new Metrics();
  for (const slot of slots) {
    metrics.runEnded(slot, { ranJob: true, job: 'a', result: 'succeeded', waitedS: 5, durationS: 61, use });
    metrics.runEnded(slot, { ranJob: true, job: 'a', result: 'failed', waitedS: 5, durationS: 100_000 });
    metrics.runEnded(slot, { ranJob: true, cause: cause('run.out-of-memory'), durationS: 9.5 });
    metrics.runEnded(slot, { ranJob: false, cause: cause(code), waitedS: 1 });
    metrics.launchFailed(slot, 'engine.timeout');
    metrics.strayError('rejection', 1);
    metrics.queued('gpus', 1800);
  }
  metrics.gpus.checked(boards, 20, () => '0,1');
  metrics.gpus.checked(boards, 10, () => '0,1');
  return metrics;
}

const series = (families: readonly Family[], family: string): readonly string[] =>
  families
    .flatMap(({ samples }) => samples)
    .filter(({ name }) => name === family)
    .map(({ labels, value }) => `${Object.values(labels).toSorted().join(' ')} ${value}`.trim());

test('an unknown job result has no own series', async () => {
  const metrics = new Metrics();
  for (const result of ['succeeded', 'x1', 'x2', 'x3'])
    metrics.runEnded('0', { ranJob: true, job: 'a', result, waitedS: 5, durationS: 61 });
  const families = readExposition(await metrics.render(status(), disk));
  expect(series(families, 'azp_fleet_jobs_total')).toEqual(['0 succeeded 1', '0 other 3']);
});

test('each family is listed once, with all of its samples', async () => {
  const families = readExposition(await used().render(status(), disk));
  const seen = (name: string): readonly string[] => series(families, `azp_fleet_${name}`);
  expect(seen('manager_info')).toEqual(['1.2.3 gpu-1 1']);
  expect([seen('pool_up'), seen('credential_ok'), seen('docker_up')]).toEqual([['gpus 0'], ['0'], ['1']]);
  expect(seen('image_ready')).toEqual(['sha256:1 1']);
  expect(seen('slots')).toEqual([
    'starting 0',
    'idle 1',
    'busy 1',
    'stopping 0',
    'backing-off 0',
    'drained 0',
    'quarantined 0',
    'waiting 1',
  ]);
  expect(seen('slot_info')).toEqual(['0 busy gpu-1-0 1', '1 gpu-1-1 idle 1', '2 gpu-1-2 waiting 1']);
  expect(seen('slot_away_since_timestamp_seconds')).toEqual(['2 gpu-1-2 1795330800.5']);
  expect(seen('health')).toEqual(['healthy 0', 'degraded 1', 'failed 0', 'hung 0', 'unknown 0']);
  expect(seen('health_finding')).toEqual(['0000:83:00.0 fail gpu.lost 1', 'smi.slow warn 1']);
  expect([seen('disk_free_bytes'), seen('disk_total_bytes')]).toEqual([['1500000000000'], ['2000398934016']]);
  expect(seen('runs_total')).toEqual(['0 true 3', '0 false 1', '1 true 3', '1 false 1']);
  expect(seen('run_failures_total')).toEqual([
    '0 run.out-of-memory 1',
    '0 run.failed 1',
    '1 run.out-of-memory 1',
    '1 run.failed 1',
  ]);
  expect(seen('jobs_total')).toEqual([
    '0 succeeded 1',
    '0 failed 1',
    '0 lost 1',
    '1 succeeded 1',
    '1 failed 1',
    '1 lost 1',
  ]);
  expect(seen('launch_failures_total')).toEqual(['0 engine.timeout 1', '1 engine.timeout 1']);
  expect(seen('queue_wait_seconds_bucket').slice(0, 7)).toEqual([
    '5 gpus 0',
    '15 gpus 0',
    '60 gpus 0',
    '300 gpus 0',
    '900 gpus 0',
    '1800 gpus 2',
    '3600 gpus 2',
  ]);
  expect([seen('queue_wait_seconds_sum'), seen('queue_wait_seconds_count')]).toEqual([
    ['gpus 3600'],
    ['gpus 2'],
  ]);
  const ofSlot0 = families
    .find(({ name }) => name === 'azp_fleet_job_duration_seconds')
    ?.samples.filter(({ labels }) => labels['slot'] === '0')
    .map(({ name, labels: { le = '' }, value }) => [name.replace(/.*_/, ''), le, value].join(' '));
  expect(ofSlot0).toEqual([
    'bucket 10 1',
    'bucket 60 1',
    'bucket 300 2',
    'bucket 900 2',
    'bucket 3600 2',
    'bucket 14400 2',
    'bucket 43200 2',
    'bucket 86400 2',
    'bucket +Inf 3',
    'sum  100070.5',
    'count  3',
  ]);
});

test('a second scrape has only the current state', async () => {
  const metrics = used();
  await metrics.render(status(), disk);
  const later = status({
    pools: [{ name: 'gpus', up: true }],
    slots: [],
    health: { state: 'healthy', findings: [] },
    problems: [],
  });
  const families = readExposition(await metrics.render(later, undefined));
  const seen = (name: string): readonly string[] => series(families, `azp_fleet_${name}`);
  expect([seen('slot_info'), seen('health_finding'), seen('disk_free_bytes')]).toEqual([[], [], []]);
  expect([seen('pool_up'), seen('credential_ok')]).toEqual([['gpus 1'], ['1']]);
  expect(seen('launch_failures_total')).toHaveLength(2);
});

test('a pool without jobs has an empty histogram', async () => {
  const pools = [{ name: 'gpus', up: true }];
  const families = readExposition(await new Metrics().render(status({ pools }), disk));
  expect(series(families, 'azp_fleet_queue_wait_seconds_count')).toEqual(['gpus 0']);
});

test('concurrent scrapes do not mix', async () => {
  const metrics = used();
  const [one, two] = await Promise.all([
    metrics.render(status({ host: 'a' }), disk),
    metrics.render(status({ host: 'b' }), disk),
  ]);
  const host = (text: string) => series(readExposition(text), 'azp_fleet_manager_info');
  expect([host(one), host(two)]).toEqual([['1.2.3 a 1'], ['1.2.3 b 1']]);
});

test('label values of any kind are escaped', async () => {
  const names = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc
      .array(fc.constantFrom('"', '\\', '\n', '\\n', '{', '}', ',', '=', '# HELP x y\n', '__proto__'), {
        maxLength: 4,
      })
      .map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(names, names, names, async (host, slot, code) => {
      const slots = [
        {
          slot,
          agent: slot,
          state: 'idle' as const,
          gpus: [],
          pool: 'gpu-lab',
          since: '',
          jobsRun: 0,
        },
      ];
      const families = readExposition(await used([slot], code).render(status({ host, slots }), disk));
      const labels = (name: string) =>
        families.find((family) => family.name === `azp_fleet_${name}`)?.samples.map((each) => each.labels);
      expect(labels('manager_info')).toEqual([{ version: '1.2.3', host }]);
      expect(labels('slot_info')).toEqual([{ slot, agent: slot, state: 'idle' }]);
      expect(labels('run_failures_total')?.map((each) => each['cause'])).toContain(code);
    }),
  );
});

test('each GPU has gauges with its slots; a value that is not known has none', async () => {
  const families = readExposition(await used().render(status(), disk));
  const seen = (name: string): readonly string[] => series(families, `azp_fleet_gpu_${name}`);
  expect(seen('utilization_ratio')).toEqual(['0,1 GPU-1 0.98']);
  expect(seen('memory_used_bytes')).toEqual(['0,1 GPU-1 2097152', '1 MIG-1 1048576']);
  expect(seen('memory_total_bytes')).toEqual(['0,1 GPU-1 4194304', '1 MIG-1 2097152']);
  expect(seen('temperature_celsius')).toEqual(['0,1 GPU-1 64']);
  expect(seen('power_watts')).toEqual(['0,1 GPU-1 412.5']);
  expect(seen('throttled')).toEqual(['0,1 GPU-1 1']);
  const silent = status({ health: { state: 'hung', findings: [] } });
  expect(series(readExposition(await used().render(silent, disk)), 'azp_fleet_gpu_power_watts')).toEqual([]);
});

test('each GPU has counters of the checks, and jobs have histograms without their names', async () => {
  const families = readExposition(await used(['0']).render(status(), disk));
  const seen = (name: string): readonly string[] => series(families, `azp_fleet_${name}`);
  expect(seen('gpu_active_seconds_total')).toEqual(['0,1 GPU-1 30', '0,1 GPU-2 0']);
  expect(seen('gpu_throttled_seconds_total')).toEqual(['0,1 GPU-1 30']);
  expect(seen('gpu_energy_joules_total')).toEqual(['0,1 GPU-1 12000']);
  expect(seen('job_gpu_utilization_ratio_bucket')).toContain('0 0.75 1');
  expect(seen('job_gpu_memory_bytes_sum')).toEqual([`0 ${10 * 1024 ** 3}`]);
  expect(seen('job_gpu_energy_joules_sum')).toEqual(['0 7200']);
  const labels = families.flatMap(({ samples }) => samples.flatMap((sample) => Object.keys(sample.labels)));
  expect(labels).not.toContain('run');
  expect(families.map(({ name }) => name).filter((name) => /dcgm/i.test(name))).toEqual([]);
});

test('promtool reports no problem', async ({ annotate }) => {
  const seen = promtool(['check', 'metrics'], await used().render(status(), disk));
  if (seen !== undefined) expect(seen).toEqual({ code: 0, said: '' });
  else await annotate('promtool is not installed: only our own test read the metrics');
});

test('the documentation lists every metric with labels and help; dashboard and alerts use no other', async () => {
  const families = readExposition(await used().render(status(), disk));
  const served = families.map(({ name, help, samples }) => {
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    return [name, [...labels].toSorted().join(', '), help];
  });
  const rows = readFileSync('docs/monitoring.md', 'utf8').matchAll(
    /^\| `(azp_fleet_\w+)` \| (.*?) \| (.*) \|$/gm,
  );
  const documented = [...rows].map(([, name, labels = '', help]) => [
    name,
    labels.trim().split(', ').toSorted().join(', '),
    help,
  ]);
  expect(served).toEqual(documented);
  const names = families.map(({ name }) => name);
  const dashboard = readFileSync('docs/grafana-dashboard.json', 'utf8');
  const rules = readFileSync('docs/prometheus-rules.yml', 'utf8');
  for (const [name] of `${dashboard}${rules}`.matchAll(/azp_fleet_\w+/g))
    expect(names).toContain(name.replace(/_(bucket|count|sum)$/, ''));
});

describe('the test reader refuses', () => {
  const head = (name: string, type = 'gauge') => `# HELP ${name} x\n# TYPE ${name} ${type}\n`;
  test.each([
    ['a family listed twice', `${head('a')}a 1\n${head('b')}b 1\n${head('a')}`],
    ['samples away from their family', `${head('a')}${head('b')}b 1\na 1\n`],
    ['a sample before its family', `a 1\n${head('a')}`],
    ['a series listed twice', `${head('a')}a{x="1",y="2"} 1\na{y="2",x="1"} 1\n`],
    ['a label listed twice', `${head('a')}a{x="1",x="2"} 1\n`],
    ['a quote that is not escaped', `${head('a')}a{x="1"2"} 1\n`],
    ['a backslash that escapes nothing', `${head('a')}a{x="\\d"} 1\n`],
    ['an invalid value', `${head('a')}a Nan\n`],
    ['HELP without TYPE', '# HELP a x\na 1\n'],
    ['a counter by another name', head('a', 'counter')],
    [
      'buckets that shrink',
      `${head('a', 'histogram')}a_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n`,
    ],
    ['a histogram without +Inf', `${head('a', 'histogram')}a_bucket{le="1"} 1\na_sum 1\na_count 1\n`],
    ['a last line without end', `${head('a')}a 1`],
  ])('%s', (_, text) => {
    expect(() => readExposition(text)).toThrow();
  });
});
