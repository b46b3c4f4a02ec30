import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, Registry, prometheusContentType } from 'prom-client';
import {
  poolsInUse,
  type ManagerStatus,
  type HostHealth,
  type SlotStatus,
} from '../../shared/contract/status.ts';
import type { DiskSpace } from '../machine/disk.ts';
import type { Ended } from '../runs/collect.ts';
import { faultOf } from '../runs/outcome.ts';
import { backoffMs, type Clock } from '../../shared/base/clock.ts';
import { codeOf } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import type { Cause } from '../model.ts';
import { gpuGauges, GpuMetrics } from './gpu-metrics.ts';
import { boundedServer, listen } from './server.ts';

/** Seconds; jobs of machine learning take from moments to days. */
const durationBuckets = [10, 60, 300, 900, 3600, 14_400, 43_200, 86_400];
/**
 * Seconds. An idle agent gets a job within about 15 s, because it polls; a job without an idle agent waits as long as other
 * jobs take. 1800 is a bound because the alert on long waits uses it.
 */
const queueBuckets = [5, 15, 60, 300, 900, 1800, 3600, 14_400, 43_200, 86_400];

/** Job results of Azure Pipelines. A job can print other results as its agent; each would be a permanent series. */
const jobResults = new Set([
  'succeeded',
  'succeededwithissues',
  'failed',
  'canceled',
  'skipped',
  'abandoned',
]);

const strayKinds = ['rejection', 'output', 'exception'] as const;

/** Counts events since the start, and renders metrics for Prometheus. docs/monitoring.md lists every name. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #gauges = statusGauges.map(({ name, help, labelNames, samples }) => ({
    gauge: new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] }),
    samples,
  }));
  readonly #runs = this.#counter(
    'azp_fleet_runs_total',
    'Ended containers; label job: whether they ran one.',
    ['slot', 'job'],
  );
  readonly #runFailures = this.#counter(
    'azp_fleet_run_failures_total',
    'Containers that ended with a fault, by cause.',
    ['slot', 'cause'],
  );
  readonly #jobs = this.#counter(
    'azp_fleet_jobs_total',
    'Jobs run, by result of Azure Pipelines; other: an unknown result; lost: the end was not observed.',
    ['slot', 'result'],
  );
  readonly #launchFailures = this.#counter(
    'azp_fleet_launch_failures_total',
    'Containers that could not be started, by cause.',
    ['slot', 'cause'],
  );
  readonly #messages = this.#counter(
    'azp_fleet_webhook_messages_total',
    'Accepted webhook messages, and failed attempts.',
    ['result'],
  );
  readonly #strayErrors = this.#counter(
    'azp_fleet_stray_errors_total',
    'Uncaught errors: the manager survives rejection and output; exception restarts it, and the count continues.',
    ['kind'],
  );
  readonly #durations = new Histogram({
    name: 'azp_fleet_job_duration_seconds',
    help: 'How long jobs took.',
    labelNames: ['slot'],
    buckets: durationBuckets,
    registers: [this.#registry],
  });
  /** Pools with a series. */
  readonly #pools = new Set<string>();
  readonly #queue = new Histogram({
    name: 'azp_fleet_queue_wait_seconds',
    help: 'How long jobs waited in the queue of the pool until an agent of this host took them.',
    labelNames: ['pool'],
    buckets: queueBuckets,
    registers: [this.#registry],
  });
  readonly #waits = new Histogram({
    name: 'azp_fleet_agent_wait_seconds',
    help: 'How long agents waited for the job that they ran.',
    labelNames: ['slot'],
    buckets: durationBuckets,
    registers: [this.#registry],
  });
  readonly gpus = new GpuMetrics(this.#registry);

  constructor() {
    // Counters begin at 0, so that the first event shows as an increase.
    for (const kind of strayKinds) this.strayError(kind, 0);
    for (const result of ['taken', 'failed'] as const) this.webhookAnswered(result, 0);
  }

  runEnded(slot: string, outcome: Ended): void {
    this.#runs.inc({ slot, job: String(outcome.ranJob) });
    const fault = faultOf(outcome);
    if (fault !== undefined) this.#runFailures.inc({ slot, cause: fault.code });
    if (!outcome.ranJob) return;
    this.#jobs.inc({ slot, result: resultLabel(outcome.result) });
    if (outcome.durationS !== undefined) this.#durations.observe({ slot }, outcome.durationS);
    if (outcome.waitedS !== undefined) this.#waits.observe({ slot }, outcome.waitedS);
    if (outcome.use !== undefined) this.gpus.jobEnded(slot, outcome.use);
  }

  /** Counts the queue wait of a job that this host took. */
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

  /** Returns the metrics as text. All values are set before the first wait, so that concurrent scrapes do not mix. */
  render(status: ManagerStatus, disk: DiskSpace | undefined): Promise<string> {
    // The series begins at 0, so that the first wait shows as an increase.
    for (const pool of poolsInUse(status)) this.#queueOf(pool);
    for (const { gauge, samples } of this.#gauges) {
      gauge.reset();
      // A reset leaves a gauge without labels at 0 instead of unknown.
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

/** Serves GET /metrics on loopback, to any user of the machine. Jobs run with or without it. */
export class MetricsServer {
  readonly #server: Server;
  readonly #port: number;
  readonly #log: Logger;
  readonly #clock: Clock;
  #problem: Cause | undefined;
  /** Ends `run`. */
  #fail: (error: unknown) => void = () => undefined;

  constructor(
    port: number,
    render: () => Promise<string>,
    { log, clock }: { readonly log: Logger; readonly clock: Clock },
  ) {
    this.#port = port;
    this.#log = log;
    this.#clock = clock;
    const bound = readerBounds.metricsPort;
    this.#server = boundedServer(bound, log, (request, response) =>
      answer(request, response, render, (error) => this.#fail(error)),
    );
    // A caller that does not read its answer.
    this.#server.setTimeout(bound.requestMs);
  }

  /** Why there are no metrics; undefined: they are served. */
  get problem(): Cause | undefined {
    return this.#problem;
  }

  /**
   * Serves until the signal is aborted. A port that is in use is tried again after 5 s, 10 s, … at most 10 minutes. Rejects, and
   * closes the port, when the metrics cannot be rendered.
   */
  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted && !(await this.#opens()); failures += 1)
      await this.#clock.wait(backoffMs(failures + 1), signal);
    try {
      if (!signal.aborted)
        await new Promise<void>((resolve, reject) => {
          this.#fail = reject;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
    } finally {
      this.#server.close();
      this.#server.closeAllConnections();
    }
  }

  async #opens(): Promise<boolean> {
    try {
      await listen(this.#server, { port: this.#port });
      this.#problem = undefined;
      return true;
    } catch (error) {
      if (this.#problem === undefined)
        this.#log.log('warn', 'no metrics: the port cannot be opened', { port: this.#port, error });
      this.#problem = {
        code: 'metrics.port',
        what: `the port of the metrics, 127.0.0.1:${this.#port}, cannot be opened: ${codeOf(error)}`,
        next: `find the program that uses it: "ss -ltnp sport = :${this.#port}"; the manager tries again by itself`,
      };
      return false;
    }
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  render: () => Promise<string>,
  fail: (error: unknown) => void,
): Promise<void> {
  if (request.method !== 'GET' || request.url !== '/metrics') {
    response.writeHead(404).end();
    return;
  }
  try {
    const text = await render();
    response.writeHead(200, { 'content-type': prometheusContentType }).end(text);
  } catch (error) {
    response.once('close', () => fail(error));
    response.writeHead(500).end();
  }
}

/** The input of a scrape; `disk`: undefined until the disk is measured. */
interface Scrape {
  readonly status: ManagerStatus;
  readonly disk: DiskSpace | undefined;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is computed from the status at each scrape. */
interface StatusGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (scrape: Scrape) => readonly Sample[];
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

const hasProblem = ({ status }: Scrape, ...prefixes: readonly string[]): boolean =>
  status.problems.some(({ code }) => prefixes.some((prefix) => code.startsWith(prefix)));

const one = (value: number | boolean): readonly Sample[] => [{ value: Number(value) }];

/** Gauges of the status, in the order of the output. */
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
    name: 'azp_fleet_connection_up',
    help: '1 while the host can connect to the server, 0 after two failed tests in a row; absent: not tested yet, or connectivityCheck: off.',
    labelNames: [],
    samples: ({ status: { connection } }) =>
      connection?.checkedAt === undefined ? [] : one(connection.failingSince === undefined),
  },
  {
    name: 'azp_fleet_credential_ok',
    help: '0 while the server refuses the credential.',
    labelNames: [],
    samples: (scrape) => one(!hasProblem(scrape, 'azure.auth')),
  },
  {
    name: 'azp_fleet_docker_up',
    help: '1 while the Docker Engine answers.',
    labelNames: [],
    samples: (scrape) => one(!hasProblem(scrape, 'engine.unreachable', 'engine.timeout', 'engine.failed')),
  },
  {
    name: 'azp_fleet_drained',
    help: '1 while the whole host is drained.',
    labelNames: [],
    samples: ({ status }) => one(status.drained),
  },
  {
    name: 'azp_fleet_idle_left_seconds',
    help: 'Time until an unused machine powers off; absent if it does not.',
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
    help: 'Since when no agent can take a job; absent while one can, and while the slot is drained or quarantined.',
    labelNames: ['slot', 'agent'],
    samples: ({ status: { slots } }) =>
      slots.flatMap(({ slot, agent, awaySince = '' }) => {
        const since = Date.parse(awaySince) / 1000;
        return Number.isFinite(since) ? [{ labels: { slot, agent }, value: since }] : [];
      }),
  },
  {
    name: 'azp_fleet_health',
    help: '1 for the current health state of the host.',
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
  ...gpuGauges,
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
