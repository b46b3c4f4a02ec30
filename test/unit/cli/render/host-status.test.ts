// The screen of one host: what it shows, and that it fits a terminal.
import { describe, expect, test } from 'vitest';

import { hostScreen } from '../../../../src/cli/render/host-status.ts';
import { widthOf } from '../../../../src/cli/render/lines.ts';
import { hostDetail } from '../../../../src/fleet/status/detail.ts';
import { type Observation, statusRow } from '../../../../src/fleet/status/row.ts';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import type { GpuStatus, ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { agent, facts, host, now, slot, status } from '../../fleet/status/observation.ts';

const gpu = (index: number, load: Partial<GpuStatus> = {}): GpuStatus => ({
  uuid: `GPU-${index}`,
  name: 'NVIDIA H200',
  temperatureC: 40 + index,
  memoryUsedMiB: 1024 * index,
  memoryTotalMiB: 144_384,
  utilizationPercent: 10 * index,
  ...load,
});
const page = 'https://dev.azure.com/example/vision/_build/results?buildId=';
const working = (index: number): Partial<AzureAgent> => ({
  assignedRequest: {
    requestId: index,
    owner: { id: index, name: 'x', _links: { web: { href: `${page}${4700 + index}` } } },
  },
});
const busy = (index: number, more: Partial<SlotStatus> = {}): SlotStatus =>
  slot(String(index), {
    gpus: [`GPU-${index}`],
    state: 'busy',
    job: `train resnet50 on part ${index} of the nightly data`,
    jobSince: '2026-11-20T09:12:00Z',
    ...more,
  });
const idle = (index: number, more: Partial<SlotStatus> = {}) =>
  slot(String(index), { gpus: [`GPU-${index}`], ...more });

/** A host with these slots, one GPU each, and its agents in the pool. */
function machine(slots: readonly SlotStatus[], more: Partial<ManagerStatus> = {}): Observation {
  const image = {
    state: 'ready',
    reference: 'azp-fleet/agent:cuda12.8',
    digest: `sha256:${'0a'.repeat(32)}`,
  } as const;
  return {
    host,
    facts: facts(
      {
        status: status({
          slots,
          image,
          images: [{ ...image, slots: [] }],
          health: {
            state: 'healthy',
            checkedAt: '2026-11-20T09:59:48Z',
            cudaVersion: '13.0',
            gpus: slots.map((_, index) => gpu(index)),
            findings: [],
          },
          ...more,
        }),
      },
      {
        disk: {
          '/': { freeBytes: 500 * 1024 ** 3, mount: '/' },
          '/var/lib/docker': { freeBytes: 2 * 1024 ** 4, mount: '/data' },
        },
      },
    ),
  };
}
const agentsOf = (slots: readonly SlotStatus[], more: Partial<AzureAgent> = {}) =>
  new Map(
    slots.map((each, index) =>
      agent(each.slot, { ...(each.state === 'busy' ? working(index) : {}), ...more }),
    ),
  );
const queue = { pool: 'gpu-lab', jobs: { waiting: 3, running: 8, oldestWaitS: 740 } };

function shown(
  observation: Observation,
  size = { width: 80, height: 24 },
  agents: ReadonlyMap<string, AzureAgent> | undefined = new Map(),
): string[] {
  const row = statusRow(observation, () => agents, now);
  const detail = hostDetail(observation, () => agents, now);
  const lines = hostScreen(
    { row, detail, queues: [queue], jobs: undefined },
    { ...size, now, paint: (_, text) => text },
  ).split('\n');
  expect(lines.filter((line) => widthOf(line) > size.width && line.trim().includes(' '))).toEqual([]);
  return lines.slice(0, -1);
}

const eight = Array.from({ length: 8 }, (_, index) => busy(index));
const hot = {
  code: 'gpu.hot',
  gpu: 'GPU-513536b6-7d19',
  severity: 'warn',
  what: 'the temperature margin is 0 °C',
  next: 'check airflow, dust, fans and room temperature',
} as const;
const withProblem = (slots: readonly SlotStatus[]): Observation =>
  machine(slots, {
    drains: [{ reason: 'a new fan', at: '2026-11-20T08:15:00Z', owner: 'ann@laptop', slot: '7' }],
    health: {
      state: 'degraded',
      checkedAt: '2026-11-20T09:59:48Z',
      gpus: slots.map((_, index) => gpu(index)),
      findings: [hot],
    },
  });

test('eight busy slots with a problem and a drain fit 80 × 24', () => {
  const lines = shown(withProblem(eight), { width: 80, height: 24 }, agentsOf(eight));
  expect(lines.length).toBeLessThan(24);
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    h200-1: degraded (GPU check 12 s old)
    slot  gpu   °C  GiB    util  state  since (UTC)  job
    0     H200  40  0/141  0 %   busy   09:12        train resnet50 on part 0 of…
    1     H200  41  1/141  10 %  busy   09:12        train resnet50 on part 1 of…
    2     H200  42  2/141  20 %  busy   09:12        train resnet50 on part 2 of…
    3     H200  43  3/141  30 %  busy   09:12        train resnet50 on part 3 of…
    4     H200  44  4/141  40 %  busy   09:12        train resnet50 on part 4 of…
    5     H200  45  5/141  50 %  busy   09:12        train resnet50 on part 5 of…
    6     H200  46  6/141  60 %  busy   09:12        train resnet50 on part 6 of…
    7     H200  47  7/141  70 %  busy   09:12        train resnet50 on part 7 of…
    software  Debian 12, driver 580.95.05, Docker 29.7.2, toolkit 1.20.0, manager
              0.2.0
    image     azp-fleet/agent:cuda12.8, sha256:0a0a0a0a0a0a, ready
    disk      500 GiB free on /, 2048 GiB free on /data (Docker)
    pool      gpu-lab: 8/8 agents online; 3 jobs waiting up to 12 min; 8 running
    links     https://dev.azure.com/example/vision/_build/results?buildId=N, N of
              slot 0: 4700, 1: 4701, 2: 4702, 3: 4703, 4: 4704, 5: 4705, 6: 4706,
              7: 4707
    drain     slot 7 drained by ann@laptop: a new fan, since 2026-11-20 08:15 UTC
      next    run "azp-fleet undrain h200-1/7 --of ann" when it may take jobs again
    ! h200-1: GPU-513536b6: the temperature margin is 0 °C [gpu.hot]
      seen    GPU check, 2026-11-20 09:59 UTC
      next    check airflow, dust, fans and room temperature
    "
  `);
});

test('at 200 × 60 each job has its link', () => {
  const lines = shown(withProblem(eight), { width: 200, height: 60 }, agentsOf(eight));
  expect(lines.length).toBeLessThan(60);
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    h200-1: degraded (GPU check 12 s old)

    slot  gpu   °C  memory (GiB)  utilization  state  since (UTC)  job, or why none
    0     H200  40  0/141         0 %          busy   09:12        train resnet50 on part 0 of the nightly data
    1     H200  41  1/141         10 %         busy   09:12        train resnet50 on part 1 of the nightly data
    2     H200  42  2/141         20 %         busy   09:12        train resnet50 on part 2 of the nightly data
    3     H200  43  3/141         30 %         busy   09:12        train resnet50 on part 3 of the nightly data
    4     H200  44  4/141         40 %         busy   09:12        train resnet50 on part 4 of the nightly data
    5     H200  45  5/141         50 %         busy   09:12        train resnet50 on part 5 of the nightly data
    6     H200  46  6/141         60 %         busy   09:12        train resnet50 on part 6 of the nightly data
    7     H200  47  7/141         70 %         busy   09:12        train resnet50 on part 7 of the nightly data

    software  Debian 12, driver 580.95.05, Docker 29.7.2, toolkit 1.20.0, manager 0.2.0
    image     azp-fleet/agent:cuda12.8, sha256:0a0a0a0a0a0a, ready
    disk      500 GiB free on /, 2048 GiB free on /data (Docker)
    pool      gpu-lab: 8/8 agents online; 3 jobs waiting up to 12 min; 8 running
    slot 0    https://dev.azure.com/example/vision/_build/results?buildId=4700
    slot 1    https://dev.azure.com/example/vision/_build/results?buildId=4701
    slot 2    https://dev.azure.com/example/vision/_build/results?buildId=4702
    slot 3    https://dev.azure.com/example/vision/_build/results?buildId=4703
    slot 4    https://dev.azure.com/example/vision/_build/results?buildId=4704
    slot 5    https://dev.azure.com/example/vision/_build/results?buildId=4705
    slot 6    https://dev.azure.com/example/vision/_build/results?buildId=4706
    slot 7    https://dev.azure.com/example/vision/_build/results?buildId=4707

    drain     slot 7 drained by ann@laptop: a new fan, since 2026-11-20 08:15 UTC
      next    run "azp-fleet undrain h200-1/7 --of ann" when it may take jobs again

    ! h200-1: GPU-513536b6: the temperature margin is 0 °C [gpu.hot]
      seen    GPU check, 2026-11-20 09:59 UTC
      next    check airflow, dust, fans and room temperature
    "
  `);
});

test('of sixteen slots and more the free ones share a line where the lines do not suffice', () => {
  const sixteen = Array.from({ length: 16 }, (_, index) => (index < 3 ? busy(index) : idle(index)));
  const lines = shown(withProblem(sixteen), { width: 80, height: 24 }, agentsOf(sixteen));
  expect(lines.length).toBeLessThan(24);
  expect(lines.slice(0, 6)).toMatchInlineSnapshot(`
    [
      "h200-1: degraded (GPU check 12 s old)",
      "slot    gpu       °C  GiB       util  state  since  job",
      "0       H200      40  0/141     0 %   busy   09:12  train resnet50 on part 0 of…",
      "1       H200      41  1/141     10 %  busy   09:12  train resnet50 on part 1 of…",
      "2       H200      42  2/141     20 %  busy   09:12  train resnet50 on part 2 of…",
      "[3-15]  13× H200  55  117/1833  90 %  idle   09:50",
    ]
  `);
  const wide = shown(withProblem(sixteen), { width: 200, height: 60 }, agentsOf(sixteen));
  expect(wide.filter((line) => / idle /.test(line))).toHaveLength(13);
});

test('of many problems the worst is shown with the number of others where the lines do not suffice', () => {
  const findings = Array.from({ length: 12 }, (_, index) => ({ ...hot, gpu: `GPU-${index}` }));
  const health = { state: 'degraded', gpus: eight.map((_, index) => gpu(index)), findings } as const;
  const lines = shown(machine(eight, { health }), { width: 80, height: 24 }, agentsOf(eight));
  expect(lines.length).toBeLessThan(24);
  expect(lines.at(-1)).toMatch(/and 1\d problems more: azp-fleet status h200-1 --json/);
});

describe('unknown is shown with its reason, and not as nothing', () => {
  const row = (lines: readonly string[], name: string) =>
    lines.find((line) => line.startsWith(`${name} `))?.split(/ {2,}/);

  test('a GPU that a manager of an earlier version reports without its load', () => {
    const gpus = [{ uuid: 'GPU-0', name: 'NVIDIA H200' }];
    const lines = shown(machine([idle(0)], { health: { state: 'healthy', gpus, findings: [] } }));
    expect(row(lines, '0')?.slice(1, 5)).toEqual(['H200', '?', '?', '?']);
    expect(lines).toContain('?         unknown of slot 0: not reported by this manager; run with --probe');
  });

  test('one value that nvidia-smi does not report', () => {
    const { utilizationPercent: _, ...others } = gpu(0);
    const gpus = [others];
    const lines = shown(machine([idle(0)], { health: { state: 'healthy', gpus, findings: [] } }));
    expect(row(lines, '0')?.slice(1, 5)).toEqual(['H200', '40', '0/141', '?']);
    expect(lines).toContain('?         unknown of slot 0: nvidia-smi does not report it');
  });

  test('a GPU check that failed, and one that does not list the GPU', () => {
    const { gpu: _, ...ofHost } = hot;
    const findings = [{ ...ofHost, severity: 'fail', what: 'nvidia-smi does not answer' } as const];
    const failed = shown(machine([idle(0)], { health: { state: 'hung', findings } }));
    expect(row(failed, '0')?.slice(1, 5)).toEqual(['?', '?', '?', '?']);
    expect(failed).toContain('?         unknown of slot 0: nvidia-smi does not answer');
    const unlisted = shown(
      machine([idle(0)], { health: { state: 'healthy', gpus: [gpu(5)], findings: [] } }),
    );
    expect(unlisted).toContain('?         unknown of slot 0: nvidia-smi does not list it');
  });

  test('a slot without GPUs has none, which is not unknown', () => {
    const lines = shown(machine([slot('0')]));
    expect(row(lines, '0')?.slice(1, 5)).toEqual(['-', '-', '-', '-']);
    expect(lines.filter((line) => line.startsWith('?'))).toEqual([]);
  });

  test('a report that is too old says nothing about slots, jobs, images and drains', () => {
    const lines = shown(machine([busy(0)], { at: '2026-11-20T09:00:00Z' }));
    expect(row(lines, '0')?.slice(1, 6)).toEqual(['?', '?', '?', '?', 'unknown, not registered']);
    expect(row(lines, '0')?.slice(6)).toEqual(['?', '?']);
    expect(lines).toContain('image     unknown (manager report too old)');
    expect(lines).toContain('drains    unknown (manager report too old)');
    expect(lines.join('\n')).not.toContain('train');
  });

  test('a host without a manager, and one that was not read', () => {
    const bare = shown({
      host,
      facts: facts({ current: undefined, status: undefined, unitActive: undefined }),
    });
    expect(bare).toContain('image     unknown (no manager)');
    const away = shown(
      { host, problem: { code: 'ssh.refused', what: 'nothing listens', next: 'start sshd' } },
      { width: 80, height: 24 },
      agentsOf([idle(0), idle(1)], { enabled: false }),
    );
    expect(away[0]).toBe('h200-1: unreachable');
    expect(row(away, '0')).toEqual(['0', '?', '?', '?', '?', 'unknown, disabled', '?', '?']);
    expect(away).toContain('software  unknown (host not read)');
    expect(away).toContain('disk      unknown (host not read)');
    expect(away.join('\n')).toContain('pool      gpu-lab: 2/2 agents online, 2 disabled; 3 jobs waiting');
  });

  test('facts that could not be read', () => {
    const seen = facts({ status: status({ slots: [idle(0)] }) }, { disk: {} });
    const unknown = [
      { fact: 'docker-info', why: 'no answer in 8 s' },
      { fact: 'disk', why: 'no answer in 8 s' },
    ];
    const lines = shown({ host, facts: { ...seen, unknown } }).join('\n');
    expect(lines.replaceAll(/\s+/g, ' ')).toContain('Docker unknown (docker-info: no answer in 8 s)');
    expect(lines).toContain('disk      unknown (disk: no answer in 8 s)');
  });

  test('a pool that could not be read', () => {
    const row = statusRow(machine([idle(0)]), () => undefined, now);
    const detail = hostDetail(machine([idle(0)]), () => undefined, now);
    const queues = [{ pool: 'gpu-lab', unknown: 'the token expired' }];
    const screen = hostScreen(
      { row, detail, queues, jobs: undefined },
      { width: 80, height: 24, now, paint: (_, text) => text },
    );
    expect(screen).toContain('pool      gpu-lab: agents unknown; unknown (the token expired)');
    const shownWith = (all: ReadonlyMap<string, AzureAgent> | undefined) =>
      hostScreen(
        { row, detail: hostDetail(machine([idle(0)]), () => all, now), queues: [], jobs: undefined },
        { width: 80, height: 24, now, paint: (_, text) => text },
      );
    expect(shownWith(undefined)).toContain('pool      gpu-lab: unknown (pool not read)');
    expect(shownWith(new Map())).toContain('pool      gpu-lab: no such pool');
  });
});

test('some hundred MiB are not shown as 0, and a slot without a job has its reason', () => {
  const health = { state: 'healthy', gpus: [gpu(0, { memoryUsedMiB: 300 })], findings: [] } as const;
  const waits = idle(0, { state: 'waiting', cause: 'the pool does not answer' });
  const lines = shown(machine([waits], { health }), { width: 120, height: 40 });
  expect(lines.find((line) => line.startsWith('0 '))).toMatch(
    / 0\.3\/141 .* waiting .* the pool does not answer$/,
  );
});

test('a MIG device has its own memory, and the temperature of its board', () => {
  const mig = [{ uuid: 'MIG-1', profile: '1g.18gb', memoryUsedMiB: 2048, memoryTotalMiB: 18_432 }];
  const health = { state: 'healthy', gpus: [gpu(0, { mig })], findings: [] } as const;
  const lines = shown(machine([idle(0, { gpus: ['MIG-1'] })], { health }));
  expect(lines.find((line) => line.startsWith('0 '))).toMatch(/^0 +H200 1g\.18gb +40 +2\/18 +\? +idle/);
});

test('a slot with several GPUs has the highest temperature, the whole memory and the mean utilization', () => {
  const health = { state: 'healthy', gpus: [gpu(0), gpu(2)], findings: [] } as const;
  const lines = shown(machine([idle(0, { gpus: ['GPU-0', 'GPU-2'] })], { health }));
  expect(lines.find((line) => line.startsWith('0 '))).toMatch(/^0 +2× H200 +42 +2\/282 +10 % +idle/);
});

test('only a plain web address of the server is shown as a link', () => {
  const odd = (href: string) =>
    hostDetail(
      machine([busy(0)]),
      () =>
        new Map([
          agent('0', {
            assignedRequest: { requestId: 1, owner: { id: 1, name: 'x', _links: { web: { href } } } },
          }),
        ]),
      now,
    ).slots[0]?.link;
  expect(odd(`${page}1`)).toBe(`${page}1`);
  expect(
    ['javascript:alert(1)', 'https://a b', 'https://a/\u001b[2J', `https://a/${'x'.repeat(900)}`].map(odd),
  ).toEqual(Array.from({ length: 4 }, () => undefined));
});
