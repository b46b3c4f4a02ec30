import { Counter, Histogram, type Registry } from 'prom-client';
import type { RunUse } from '../../shared/contract/history.ts';
import type { GpuStatus, ManagerStatus } from '../../shared/contract/status.ts';
import type { GpuSample } from '../history/entries.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** Part of the time in which the GPUs of a job worked. */
const utilizationBuckets = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
/** From a notebook to eight GPUs. */
const memoryBuckets = [1, 4, 8, 16, 24, 48, 80, 160, 320, 640, 1280].map((gib) => gib * GiB);
/** From a minute on a small card to a day on eight large ones. */
const energyBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is computed from the status at each scrape. */
interface GpuGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (scrape: { readonly status: ManagerStatus }) => readonly Sample[];
}

const labelNames = ['gpu', 'slot'] as const;

/** Returns the names of the slots that use a GPU or a MIG device, with commas between several. Pure. */
export function slotLabel(
  slots: readonly { readonly name: string; readonly gpus: readonly string[] }[],
  uuid: string,
): string {
  return slots.flatMap(({ name, gpus }) => (gpus.includes(uuid) ? [name] : [])).join();
}

/** What the gauges read of a board; of a MIG device only the memory. */
type Device = Omit<GpuStatus, 'name' | 'mig'>;

/** Builds a gauge of one value. A value that nvidia-smi does not report has no sample. */
function gauge(name: string, help: string, value: (gpu: Device) => number | undefined): GpuGauge {
  return {
    name: `azp_fleet_gpu_${name}`,
    help,
    labelNames,
    samples: ({ status: { health, slots } }) => {
      const named = slots.map(({ slot, gpus }) => ({ name: slot, gpus }));
      const devices = (health.gpus ?? []).flatMap((gpu): readonly Device[] => [gpu, ...(gpu.mig ?? [])]);
      return devices.flatMap((device) => {
        const found = value(device);
        if (found === undefined) return [];
        return [{ labels: { gpu: device.uuid, slot: slotLabel(named, device.uuid) }, value: found }];
      });
    },
  };
}

function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Gauges of the last check of the GPUs. Without an answer of nvidia-smi they have no samples. */
export const gpuGauges: readonly GpuGauge[] = [
  gauge('utilization_ratio', 'Utilization of the GPU at the last check, 0 to 1.', ({ utilizationPercent }) =>
    scaled(utilizationPercent, 0.01),
  ),
  gauge('memory_used_bytes', 'Memory in use; MIG devices have their own series.', ({ memoryUsedMiB }) =>
    scaled(memoryUsedMiB, MiB),
  ),
  gauge(
    'memory_total_bytes',
    'Size of the memory; MIG devices have their own series.',
    ({ memoryTotalMiB }) => scaled(memoryTotalMiB, MiB),
  ),
  gauge('temperature_celsius', 'Temperature of the GPU.', ({ temperatureC }) => temperatureC),
  gauge('power_watts', 'Power of the board.', ({ powerW }) => powerW),
  gauge('throttled', '1 while heat or the power brake slows the GPU down.', ({ throttled }) =>
    throttled === undefined ? undefined : Number(throttled),
  ),
];

/** Counts what the checks of the GPUs show, and the GPU use of jobs. */
export class GpuMetrics {
  readonly #active: Counter<'gpu' | 'slot'>;
  readonly #throttled: Counter<'gpu' | 'slot'>;
  readonly #energy: Counter<'gpu' | 'slot'>;
  readonly #jobUtilization: Histogram<'slot'>;
  readonly #jobMemory: Histogram<'slot'>;
  readonly #jobEnergy: Histogram<'slot'>;

  constructor(registry: Registry) {
    const counter = (name: string, help: string): Counter<'gpu' | 'slot'> =>
      new Counter({
        name: `azp_fleet_gpu_${name}`,
        help,
        labelNames: [...labelNames],
        registers: [registry],
      });
    const histogram = (name: string, help: string, buckets: number[]): Histogram<'slot'> =>
      new Histogram({
        name: `azp_fleet_job_gpu_${name}`,
        help,
        labelNames: ['slot'],
        buckets,
        registers: [registry],
      });
    this.#active = counter('active_seconds_total', 'Time with a utilization above 0, sampled every 20 s.');
    this.#throttled = counter(
      'throttled_seconds_total',
      'Time in which heat or the power brake slowed the GPU down, sampled every 20 s.',
    );
    this.#energy = counter('energy_joules_total', 'Energy of the board: its power, sampled every 20 s.');
    this.#jobUtilization = histogram(
      'utilization_ratio',
      'Mean utilization of the GPUs of a job, 0 to 1.',
      utilizationBuckets,
    );
    this.#jobMemory = histogram('memory_bytes', 'Peak memory of the GPUs of a job together.', memoryBuckets);
    this.#jobEnergy = histogram('energy_joules', 'Energy of the GPUs of a job.', energyBuckets);
  }

  /** Counts a check. `seconds`: the time that it stands for; `slotOf`: the label of a board. */
  checked(boards: ReadonlyMap<string, GpuSample>, seconds: number, slotOf: (gpu: string) => string): void {
    for (const [gpu, { utilizationPercent, throttled, powerW }] of boards) {
      const labels = { gpu, slot: slotOf(gpu) };
      if (utilizationPercent !== undefined) this.#active.inc(labels, utilizationPercent > 0 ? seconds : 0);
      if (throttled !== undefined) this.#throttled.inc(labels, throttled * seconds);
      if (powerW !== undefined) this.#energy.inc(labels, Math.max(0, powerW) * seconds);
    }
  }

  /** Counts the GPU use of a job. */
  jobEnded(slot: string, { meanUtilizationPercent, peakMemoryMiB, energyWh }: RunUse): void {
    if (meanUtilizationPercent !== undefined)
      this.#jobUtilization.observe({ slot }, meanUtilizationPercent / 100);
    if (peakMemoryMiB !== undefined) this.#jobMemory.observe({ slot }, peakMemoryMiB * MiB);
    if (energyWh !== undefined) this.#jobEnergy.observe({ slot }, energyWh * 3600);
  }
}
