import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { poolsInUse, type ManagerStatus } from '../../shared/contract/status.ts';
import type { DiskSpace } from '../machine/disk.ts';
import type { Ended } from '../runs/collect.ts';
import { statusGauges } from './status-gauges.ts';

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
