import { describe, expect, test } from 'vitest';
import { satisfies } from '../../../../practice/azure/world/queue.ts';
import type { SmiReport } from '../../../../src/shared/health/smi-report.ts';
import { userCapabilities } from '../../../../src/manager/pool/capabilities.ts';
import {
  type Offer,
  offersOf,
  type PipelineKind,
  pipelineKinds,
  pipelineText,
} from '../../../../src/cli/render/pipeline.ts';
import { config } from '../../../support/manager-config.ts';
import { readPipeline } from '../../../support/pipeline-yaml.ts';
import { plainSlot } from '../../../support/slot.ts';
import { problemOf } from '../../../support/transport.ts';
import { fleet } from '../../fleet/inventory/fixture.ts';

const lab = fleet(`
defaults: { pool: gpu-lab, datasets: { IMAGENET: { host: /data/imagenet, container: /datasets/imagenet } } }
hosts:
  big:
    capabilities: { team: vision, 'room no': 7, odd: '$(x)' }
    jobs: { docker: true }
    datasets: { MODELS: { host: '/data/our models', container: /models } }
    agents:
      - { gpus: [0] }
      - { name: bare, gpus: [GPU-1234], mode: host }
      - { name: view, gpus: [2, 3], capabilities: [compute, utility, graphics] }
      - { name: elsewhere, gpus: [4], pool: gpu-other }
  small: { capabilities: { team: 'speech: night' }, dockerfile: ./vision }
`);
const offers = offersOf(lab.hosts, 'gpu-lab');
const kinds = Object.keys(pipelineKinds) as PipelineKind[];

function printed(kind: PipelineKind, of: readonly Offer[] = offers, images?: string): string {
  return pipelineText({ kind, pool: 'gpu-lab', offers: of, ...(images === undefined ? {} : { images }) });
}

/** The capabilities that the manager and the agent publish. */
function published({ agent, host, gpus = 1 }: Offer): Readonly<Record<string, string>>[] {
  const own = config({ host: host.name, capabilities: host.capabilities, datasets: host.datasets });
  const report = { gpus: [], driverVersion: '580.95.05', cudaVersion: '13.0' } as unknown as SmiReport;
  const uuids = Array.from({ length: gpus }, (_, at) => `GPU-${at}`);
  return [userCapabilities(own, { ...plainSlot, gpus: uuids }, report, 'us'), { 'Agent.Name': agent }];
}

describe.each(kinds)('%s', (kind) => {
  const { jobs } = readPipeline(printed(kind));

  test('each job names the pool, and an agent meets its demands', () => {
    for (const { pool } of jobs) {
      expect(pool.name).toBe('gpu-lab');
      expect(offers.filter((offer) => satisfies(published(offer), pool.demands))).not.toEqual([]);
    }
  });

  test('every agent that can take a job has its datasets', () => {
    for (const { pool, container, steps } of jobs) {
      const used = [...JSON.stringify(steps).matchAll(/\$([A-Z]+)/g)].map(([, name]) => name);
      for (const { host } of offers.filter((offer) => satisfies(published(offer), pool.demands)))
        expect(host.datasets.map(({ name }) => name)).toEqual(expect.arrayContaining(used));
      if (container !== undefined)
        expect(Object.keys(container.env ?? {})).toEqual(expect.arrayContaining(used));
    }
  });

  test('fits 80 columns, except for long values', () => {
    const long = printed(kind)
      .split('\n')
      .filter((line) => line.length > 79 && !/^\s+(options|- script): /.test(line));
    expect(long).toEqual([]);
  });
});

test('a matrix has a job for each number of GPUs and each value of a capability', () => {
  const { jobs } = readPipeline(printed('matrix'));
  expect(jobs.map(({ job, pool }) => [job, ...pool.demands])).toEqual([
    ['gpus_1', 'gpu.count -equals 1'],
    ['gpus_2', 'gpu.count -equals 2'],
    ['team_vision', 'team -equals vision'],
    ['team_speech_night', 'team -equals speech: night'],
  ]);
});

test('jobs of a matrix have unique names, and a matrix has at most the permitted jobs', () => {
  const hosts = Array.from(
    { length: 30 },
    (_, at) => `h${at}: { capabilities: { rack: 'r ${'-'.repeat(at)}' } }`,
  );
  const wide = fleet(`defaults: { pool: gpu-lab }\nhosts: { ${hosts.join(', ')} }`);
  expect(readPipeline(printed('matrix', offersOf(wide.hosts, 'gpu-lab'))).jobs).toHaveLength(8);
});

test("a job's container has the slot's GPU and the datasets, and uses the site's mirror", () => {
  const { jobs } = readPipeline(printed('container', offers, 'registry.lab.example/'));
  expect(jobs[0]).toMatchObject({
    pool: { demands: ['Agent.Name -equals big-bare'] },
    container: {
      image: expect.stringMatching(/^registry\.lab\.example\/nvidia\/cuda:/),
      options:
        '--gpus device=GPU-1234 --volume /data/imagenet:/datasets/imagenet:ro --volume "/data/our models:/models:ro"',
      env: { IMAGENET: '/datasets/imagenet', MODELS: '/models' },
    },
  });
});

test('graphics runs on an agent with that capability, without a screen', () => {
  const { jobs } = readPipeline(printed('graphics'));
  expect(jobs[0]?.pool.demands).toEqual(['Agent.Name -equals big-view']);
  expect(JSON.stringify(jobs[0]?.steps)).toContain('"PYOPENGL_PLATFORM":"egl"');
});

test('a job for the own image demands that image', () => {
  expect(readPipeline(printed('image')).jobs[0]?.pool.demands).toEqual(['Agent.Name -equals small-0']);
  expect(printed('image')).toContain('dockerfile: of the inventory');
});

test.each([
  ['container', 'mode: host'],
  ['image', 'dockerfile: or image:'],
  ['graphics', 'driverCapabilities'],
] as const)(
  'a pool without an agent for %s: the inventory is named, and what to write into it',
  async (kind, next) => {
    const plain = fleet('defaults: { pool: gpu-lab }\nhosts: { a: {} }');
    const asked = Promise.resolve().then(() => printed(kind, offersOf(plain.hosts, 'gpu-lab')));
    expect(await problemOf(asked)).toMatchObject({
      code: 'usage.pipeline-kind',
      next: expect.stringContaining(next) as string,
    });
  },
);

test('a pool pattern matches each pool name that it can become', () => {
  const { hosts } = fleet('defaults: { pool: "{arch}-cuda{cuda}" }\nhosts: { a: { gpus: 2 } }');
  expect(offersOf(hosts, 'x64-cuda13.0').map(({ agent }) => agent)).toEqual(['a-0', 'a-1']);
  expect(offersOf(hosts, 'gpu-lab')).toEqual([]);
});
