import { createServer, type Server, type ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, Registry, prometheusContentType } from 'prom-client';
import {
  poolsInUse,
  type ManagerStatus,
  type HostHealth,
  type SlotStatus,
} from '../../shared/contract/status.ts';
import type { DiskSpace } from '../machine/disk.ts';
import type { Ended } from '../runs/collect.ts';
import type { Logger } from '../../shared/base/log.ts';

/** Seconds; jobs of machine learning take from moments to days. */
const durationBuckets = [10, 60, 300, 900, 3600, 14_400, 43_200, 86_400];
/**
 * Seconds. A free agent has its job within some 15 s (the agent asks in polls), and whoever waits for one waits as long as
 * others' jobs take. 1800 is a bucket's bound because the alert on long waits asks for it.
 */
const queueBuckets = [5, 15, 60, 300, 900, 1800, 3600, 14_400, 43_200, 86_400];

/** What Azure Pipelines calls the ends of jobs. A job can print others in its agent's name: each would be a series for ever. */
const jobResults = new Set([
  'succeeded',
  'succeededwithissues',
  'failed',
  'canceled',
  'skipped',
  'abandoned',
]);

const strayKinds = ['rejection', 'output', 'exception'] as const;

/** Counters since the start, and the text that Prometheus reads. docs/monitoring.md lists every name. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #gauges = statusGauges.map(({ name, help, labelNames, samples }) => ({
    gauge: new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] }),
    samples,
  }));
  readonly #runs = this.#counter(
    'azp_fleet_runs_total',
    'Ended containers; job tells whether they ran one.',
    ['slot', 'job'],
  );
  readonly #runFailures = this.#counter(
    'azp_fleet_run_failures_total',
    'Containers with something wrong at their end, by cause.',
    ['slot', 'cause'],
  );
  readonly #jobs = this.#counter(
    'azp_fleet_jobs_total',
    'Jobs run, by result: as Azure Pipelines calls it, other where it knows none like it, lost where the end was not seen.',
    ['slot', 'result'],
  );
  readonly #launchFailures = this.#counter(
    'azp_fleet_launch_failures_total',
    'Containers that could not be started, by cause.',
    ['slot', 'cause'],
  );
  readonly #messages = this.#counter(
    'azp_fleet_webhook_messages_total',
    'Messages that the webhook took, and tries that failed.',
    ['result'],
  );
  readonly #strayErrors = this.#counter(
    'azp_fleet_stray_errors_total',
    'Errors that nothing caught: rejection and output are outlived, exception ends the manager and counts on over that.',
    ['kind'],
  );
  readonly #durations = new Histogram({
    name: 'azp_fleet_job_duration_seconds',
    help: 'How long jobs took.',
    labelNames: ['slot'],
    buckets: durationBuckets,
    registers: [this.#registry],
  });
  /** Of which pools something has been told. */
  readonly #pools = new Set<string>();
  readonly #queue = new Histogram({
    name: 'azp_fleet_queue_wait_seconds',
    help: 'How long jobs had waited in the queue of the pool when an agent of this host had them.',
    labelNames: ['pool'],
    buckets: queueBuckets,
    registers: [this.#registry],
  });
  readonly #waits = new Histogram({
    name: 'azp_fleet_agent_wait_seconds',
    help: 'How long agents that ran a job had waited for it.',
    labelNames: ['slot'],
    buckets: durationBuckets,
    registers: [this.#registry],
  });

  constructor() {
    // What has not happened yet is told too, so that the first time is seen as a rise.
    for (const kind of strayKinds) this.strayError(kind, 0);
    for (const result of ['taken', 'failed'] as const) this.webhookAnswered(result, 0);
  }

  runEnded(slot: string, outcome: Ended): void {
    this.#runs.inc({ slot, job: String(outcome.ranJob) });
    if (outcome.cause !== undefined) this.#runFailures.inc({ slot, cause: outcome.cause.code });
    if (!outcome.ranJob) return;
    this.#jobs.inc({ slot, result: resultLabel(outcome.result) });
    if (outcome.durationS !== undefined) this.#durations.observe({ slot }, outcome.durationS);
    if (outcome.waitedS !== undefined) this.#waits.observe({ slot }, outcome.waitedS);
  }

  /** A job that this host took had waited so long. */
  queued(pool: string, waitedS: number): void {
    this.#queueOf(pool).observe({ pool }, waitedS);
  }

  #queueOf(pool: string): Histogram<'pool'> {
    if (!this.#pools.has(pool)) this.#queue.zero({ pool });
    this.#pools.add(pool);
    return this.#queue;
  }

  launchFailed(slot: string, cause: string): void {
    this.#launchFailures.inc({ slot, cause });
  }

  webhookAnswered(result: 'taken' | 'failed', times = 1): void {
    this.#messages.inc({ result }, times);
  }

  strayError(kind: (typeof strayKinds)[number], times: number): void {
    this.#strayErrors.inc({ kind }, times);
  }

  /** Two scrapes at once tell each its own status: the values are taken before the first wait. */
  render(status: ManagerStatus, disk: DiskSpace | undefined): Promise<string> {
    // So that the first wait is seen as a rise.
    for (const pool of poolsInUse(status)) this.#queueOf(pool);
    for (const { gauge, samples } of this.#gauges) {
      gauge.reset();
      // A reset leaves a gauge without labels at 0, which would be a lie where nothing is known.
      gauge.remove({});
      for (const { labels = {}, value } of samples({ status, disk })) gauge.set(labels, value);
    }
    return this.#registry.metrics();
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }
}

function resultLabel(result: string | undefined): string {
  if (result === undefined) return 'lost';
  return jobResults.has(result) ? result : 'other';
}

/** GET /metrics on loopback. A port that is taken is no reason to stop serving jobs: it is logged. */
export async function serveMetrics(
  port: number,
  render: () => Promise<string>,
  log: Logger,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method === 'GET' && request.url === '/metrics') void answer(response, render, log);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    server.once('error', (error) => {
      log.log('warn', 'no metrics: the port cannot be opened', { port, error });
      resolve();
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

async function answer(response: ServerResponse, render: () => Promise<string>, log: Logger): Promise<void> {
  try {
    const text = await render();
    response.writeHead(200, { 'content-type': prometheusContentType }).end(text);
  } catch (error) {
    log.log('error', 'the metrics cannot be put together', { error });
    response.writeHead(500).end();
  }
}

/** What is known at a scrape; `disk` is undefined until it has been measured. */
interface Seen {
  readonly status: ManagerStatus;
  readonly disk: DiskSpace | undefined;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is computed anew at each scrape. */
interface StatusGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (seen: Seen) => readonly Sample[];
}

const slotStates: readonly SlotStatus['state'][] = [
  'starting',
  'idle',
  'busy',
  'stopping',
  'backing-off',
  'drained',
  'quarantined',
  'waiting',
];

const healthStates: readonly HostHealth['state'][] = ['healthy', 'degraded', 'failed', 'hung', 'unknown'];

const problem = ({ status }: Seen, ...prefixes: readonly string[]): boolean =>
  status.problems.some(({ code }) => prefixes.some((prefix) => code.startsWith(prefix)));

const one = (value: number | boolean): readonly Sample[] => [{ value: Number(value) }];

/** What the status says, in the order in which it is served. */
const statusGauges: readonly StatusGauge[] = [
  {
    name: 'azp_fleet_manager_info',
    help: 'Version of the manager and the name of its host; always 1.',
    labelNames: ['version', 'host'],
    samples: ({ status: { version, host } }) => [{ labels: { version, host }, value: 1 }],
  },
  {
    name: 'azp_fleet_pool_up',
    help: '1 while the pool is found and the server answers.',
    labelNames: ['pool'],
    samples: ({ status: { pools } }) =>
      pools.map(({ name, up }) => ({ labels: { pool: name }, value: Number(up) })),
  },
  {
    name: 'azp_fleet_credential_ok',
    help: '0 while the server refuses the credential.',
    labelNames: [],
    samples: (seen) => one(!problem(seen, 'azure.auth')),
  },
  {
    name: 'azp_fleet_docker_up',
    help: '1 while the Docker Engine answers.',
    labelNames: [],
    samples: (seen) => one(!problem(seen, 'engine.unreachable', 'engine.timeout', 'engine.failed')),
  },
  {
    name: 'azp_fleet_drained',
    help: '1 while the whole host is drained.',
    labelNames: [],
    samples: ({ status }) => one(status.drained),
  },
  {
    name: 'azp_fleet_idle_left_seconds',
    help: 'Until the machine ends because nobody uses it; absent where nothing ends it.',
    labelNames: [],
    samples: ({ status: { idle } }) => (idle === undefined ? [] : one(Math.max(0, idle.afterS - idle.idleS))),
  },
  {
    name: 'azp_fleet_image_ready',
    help: '1 while the agent image is on the host; the label is its digest.',
    labelNames: ['digest'],
    samples: ({ status }) =>
      status.images.map(({ digest }) => ({
        labels: { digest: digest ?? '' },
        value: Number(digest !== undefined),
      })),
  },
  {
    name: 'azp_fleet_slots',
    help: 'Number of slots in each state.',
    labelNames: ['state'],
    samples: ({ status: { slots } }) =>
      slotStates.map((state) => ({
        labels: { state },
        value: slots.filter((slot) => slot.state === state).length,
      })),
  },
  {
    name: 'azp_fleet_slot_info',
    help: 'State of each slot; always 1.',
    labelNames: ['slot', 'agent', 'state'],
    samples: ({ status: { slots } }) =>
      slots.map(({ slot, agent, state }) => ({ labels: { slot, agent, state }, value: 1 })),
  },
  {
    name: 'azp_fleet_slot_pool',
    help: 'Pool of each slot, and the image that it runs; always 1.',
    labelNames: ['slot', 'pool', 'image'],
    samples: ({ status: { slots } }) =>
      slots.map(({ slot, pool, image = '' }) => ({ labels: { slot, pool, image }, value: 1 })),
  },
  {
    name: 'azp_fleet_slot_away_since_timestamp_seconds',
    help: 'Since when nobody has been there to take a job; absent while one is, and while the slot is closed or drained.',
    labelNames: ['slot', 'agent'],
    samples: ({ status: { slots } }) =>
      slots.flatMap(({ slot, agent, awaySince = '' }) => {
        const since = Date.parse(awaySince) / 1000;
        return Number.isFinite(since) ? [{ labels: { slot, agent }, value: since }] : [];
      }),
  },
  {
    name: 'azp_fleet_health',
    help: '1 for the state that the health of the host is in.',
    labelNames: ['state'],
    samples: ({ status: { health } }) =>
      healthStates.map((state) => ({ labels: { state }, value: Number(health.state === state) })),
  },
  {
    name: 'azp_fleet_health_finding',
    help: 'One per finding of the health check; always 1.',
    labelNames: ['code', 'severity', 'gpu'],
    samples: ({ status: { health } }) =>
      health.findings.map(({ code, severity, gpu = '' }) => ({ labels: { code, severity, gpu }, value: 1 })),
  },
  {
    name: 'azp_fleet_disk_free_bytes',
    help: 'Free space on the disk of Docker.',
    labelNames: [],
    samples: ({ disk }) => (disk === undefined ? [] : one(disk.freeBytes)),
  },
  {
    name: 'azp_fleet_disk_total_bytes',
    help: 'Size of the disk of Docker.',
    labelNames: [],
    samples: ({ disk }) => (disk === undefined ? [] : one(disk.totalBytes)),
  },
];
