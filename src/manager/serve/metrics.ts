import type { ManagerStatus } from '../../contract/status.ts';
import type { DiskSpace } from '../machine/disk.ts';
import type { Outcome } from '../runs/outcome.ts';

const slotStates = [
  'starting',
  'idle',
  'busy',
  'stopping',
  'backing-off',
  'drained',
  'quarantined',
  'waiting',
] as const;

/** Seconds; jobs of machine learning take from moments to days. */
const durationBuckets = [10, 60, 300, 900, 3600, 14_400, 43_200, 86_400];

interface Line {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Counters since the start, and the text that Prometheus reads. docs/manager.md lists every name. */
export class Metrics {
  readonly #counters = new Map<string, Line & { value: number }>();
  readonly #durations = new Map<string, { readonly buckets: number[]; sum: number; count: number }>();

  runEnded(slot: string, outcome: Outcome, durationS: number): void {
    this.#count('azp_fleet_runs_total', { slot, job: String(outcome.ranJob) });
    if (outcome.cause !== undefined)
      this.#count('azp_fleet_run_failures_total', { slot, cause: outcome.cause.code });
    if (!outcome.ranJob) return;
    this.#count('azp_fleet_jobs_total', { slot, result: outcome.result ?? 'lost' });
    const known = this.#durations.get(slot) ?? { buckets: durationBuckets.map(() => 0), sum: 0, count: 0 };
    known.sum += durationS;
    known.count += 1;
    durationBuckets.forEach((limit, at) => {
      if (durationS <= limit) known.buckets[at] = (known.buckets[at] ?? 0) + 1;
    });
    this.#durations.set(slot, known);
  }

  launchFailed(slot: string, cause: string): void {
    this.#count('azp_fleet_launch_failures_total', { slot, cause });
  }

  render(status: ManagerStatus, disk: DiskSpace | undefined): string {
    const families = [
      ...this.#gauges(status, disk),
      ...[...this.#counters.values()].map((line) => ({ type: 'counter' as const, line })),
      ...this.#histograms(),
    ];
    const text: string[] = [];
    const announced = new Set<string>();
    for (const { type, family, line } of families.map((each) => ({ family: each.line.name, ...each }))) {
      if (!announced.has(family))
        text.push(`# HELP ${family} ${help[family] ?? family}`, `# TYPE ${family} ${type}`);
      announced.add(family);
      text.push(format(line));
    }
    return `${text.join('\n')}\n`;
  }

  #gauges(status: ManagerStatus, disk: DiskSpace | undefined) {
    const { slots, health, image, problems } = status;
    const has = (prefix: string): boolean => problems.some(({ code }) => code.startsWith(prefix));
    const lines: Line[] = [
      { name: 'azp_fleet_manager_info', labels: { version: status.version, host: status.host }, value: 1 },
      {
        name: 'azp_fleet_pool_up',
        labels: { pool: status.pool.name },
        value: Number(!has('azure.') && !has('pool.')),
      },
      { name: 'azp_fleet_credential_ok', value: Number(!has('azure.auth')) },
      { name: 'azp_fleet_docker_up', value: Number(!has('engine.')) },
      { name: 'azp_fleet_drained', value: Number(status.drained) },
      {
        name: 'azp_fleet_image_ready',
        labels: { digest: image.digest ?? '' },
        value: Number(image.digest !== undefined),
      },
      ...slotStates.map((state) => ({
        name: 'azp_fleet_slots',
        labels: { state },
        value: slots.filter((slot) => slot.state === state).length,
      })),
      ...slots.map(({ slot, agent, state }) => ({
        name: 'azp_fleet_slot_info',
        labels: { slot, agent, state },
        value: 1,
      })),
      ...(['healthy', 'degraded', 'failed', 'hung', 'unknown'] as const).map((state) => ({
        name: 'azp_fleet_health',
        labels: { state },
        value: Number(health.state === state),
      })),
      ...health.findings.map(({ code, gpu, severity }) => ({
        name: 'azp_fleet_health_finding',
        labels: { code, severity, gpu: gpu ?? '' },
        value: 1,
      })),
      ...(disk === undefined
        ? []
        : [
            { name: 'azp_fleet_disk_free_bytes', value: disk.freeBytes },
            { name: 'azp_fleet_disk_total_bytes', value: disk.totalBytes },
          ]),
    ];
    return lines.map((line) => ({ type: 'gauge' as const, line }));
  }

  #histograms() {
    const name = 'azp_fleet_job_duration_seconds';
    return [...this.#durations].flatMap(([slot, { buckets, sum, count }]) =>
      [
        ...durationBuckets.map((limit, at) => ({
          name: `${name}_bucket`,
          labels: { slot, le: String(limit) },
          value: buckets[at] ?? 0,
        })),
        { name: `${name}_bucket`, labels: { slot, le: '+Inf' }, value: count },
        { name: `${name}_sum`, labels: { slot }, value: sum },
        { name: `${name}_count`, labels: { slot }, value: count },
      ].map((line) => ({ type: 'histogram' as const, family: name, line })),
    );
  }

  #count(name: string, labels: Readonly<Record<string, string>>): void {
    const key = `${name}${JSON.stringify(labels)}`;
    const known = this.#counters.get(key) ?? { name, labels, value: 0 };
    known.value += 1;
    this.#counters.set(key, known);
  }
}

/** Every name, with what it means; the documentation's list is held to this one by a test. */
export const help: Readonly<Record<string, string>> = {
  azp_fleet_manager_info: 'Version of the manager and the name of its host; always 1.',
  azp_fleet_pool_up: '1 while the pool is found and the server answers.',
  azp_fleet_credential_ok: '0 while the server refuses the credential.',
  azp_fleet_docker_up: '1 while the Docker Engine answers.',
  azp_fleet_drained: '1 while the whole host is drained.',
  azp_fleet_image_ready: '1 while the agent image is on the host; the label is its digest.',
  azp_fleet_slots: 'Number of slots in each state.',
  azp_fleet_slot_info: 'State of each slot; always 1.',
  azp_fleet_health: '1 for the state that the health of the host is in.',
  azp_fleet_health_finding: 'One per finding of the health check; always 1.',
  azp_fleet_disk_free_bytes: 'Free space on the disk of Docker.',
  azp_fleet_disk_total_bytes: 'Size of the disk of Docker.',
  azp_fleet_runs_total: 'Ended containers; job tells whether they ran one.',
  azp_fleet_run_failures_total: 'Containers with something wrong at their end, by cause.',
  azp_fleet_jobs_total: 'Jobs run, by result.',
  azp_fleet_launch_failures_total: 'Containers that could not be started, by cause.',
  azp_fleet_job_duration_seconds: 'How long containers with a job lived.',
};

function format({ name, labels = {}, value }: Line): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escape(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
