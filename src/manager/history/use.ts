import { defined } from '../../shared/base/objects.ts';
import type { RunUse } from '../../shared/contract/history.ts';
import type { GpuSample } from './entries.ts';

/** With fewer checks of the GPUs the values say nothing about a job. */
const leastSamples = 3;

/** A mean over time: `sum` of the values times their seconds, and those `seconds`. */
interface Mean {
  readonly sum: number;
  readonly seconds: number;
}

/** What the checks of the GPUs have shown of a run so far. */
export interface UseSoFar {
  readonly samples: number;
  readonly sampledS: number;
  readonly peakMemoryMiB?: number;
  /** Part of its GPUs that worked, their utilization, whether one was slowed down, and their power together. */
  readonly active: Mean;
  readonly utilization: Mean;
  readonly throttled: Mean;
  readonly power: Mean;
}

const nothing: Mean = { sum: 0, seconds: 0 };

export const noUse: UseSoFar = {
  samples: 0,
  sampledS: 0,
  active: nothing,
  utilization: nothing,
  throttled: nothing,
  power: nothing,
};

/** Returns the use of two parts of a run together. Pure. */
export function joined(one: UseSoFar, other: UseSoFar): UseSoFar {
  const added = (a: Mean, b: Mean): Mean => ({ sum: a.sum + b.sum, seconds: a.seconds + b.seconds });
  const peaks = [one.peakMemoryMiB, other.peakMemoryMiB].filter((peak) => peak !== undefined);
  return {
    samples: one.samples + other.samples,
    sampledS: one.sampledS + other.sampledS,
    ...(peaks.length === 0 ? {} : { peakMemoryMiB: Math.max(...peaks) }),
    active: added(one.active, other.active),
    utilization: added(one.utilization, other.utilization),
    throttled: added(one.throttled, other.throttled),
    power: added(one.power, other.power),
  };
}

/**
 * Adds one check, or a sample of several. `values`: of each GPU of the run; undefined: it did not show it. `seconds`: the time that
 * it stands for.
 * A value that one GPU lacks is not known for the run in this time. Pure.
 */
export function withCheck(
  use: UseSoFar,
  values: readonly (GpuSample | undefined)[],
  seconds: number,
  checks = 1,
): UseSoFar {
  const all = (name: keyof GpuSample): readonly number[] | undefined => {
    const known = values.flatMap((value) => value?.[name] ?? []);
    return known.length === values.length && known.length > 0 ? known : undefined;
  };
  const memory = all('memoryMiB');
  const utilization = all('utilizationPercent');
  const throttled = all('throttled');
  const power = all('powerW');
  const added = (before: Mean, value: number | undefined): Mean =>
    value === undefined ? before : { sum: before.sum + value * seconds, seconds: before.seconds + seconds };
  const peak = memory && Math.max(total(memory), use.peakMemoryMiB ?? 0);
  return {
    ...use,
    samples: use.samples + checks,
    sampledS: use.sampledS + seconds,
    ...defined({ peakMemoryMiB: peak }),
    active: added(use.active, utilization?.filter((value) => value > 0).length),
    utilization: added(use.utilization, utilization && total(utilization) / utilization.length),
    throttled: added(use.throttled, throttled && Math.max(...throttled)),
    power: added(use.power, power && total(power)),
  };
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns the use of a run. A value that was not known in some checks counts there with its mean. Pure. */
export function useOf(use: UseSoFar): RunUse {
  const { samples, sampledS, peakMemoryMiB } = use;
  const sampled = { samples, sampledS: Math.round(sampledS) };
  if (samples < leastSamples) return sampled;
  const mean = ({ sum, seconds }: Mean): number | undefined => (seconds === 0 ? undefined : sum / seconds);
  const over = (each: Mean): number | undefined => {
    const value = mean(each);
    return value === undefined ? undefined : value * sampledS;
  };
  const rounded = (value: number | undefined, digits = 0): number | undefined =>
    value === undefined ? undefined : Number(value.toFixed(digits));
  const joules = over(use.power);
  return {
    ...sampled,
    ...defined({
      gpuS: rounded(over(use.active)),
      peakMemoryMiB,
      meanUtilizationPercent: rounded(mean(use.utilization), 1),
      throttledS: rounded(over(use.throttled)),
      energyWh: rounded(joules === undefined ? undefined : joules / 3600, 2),
    }),
  };
}
