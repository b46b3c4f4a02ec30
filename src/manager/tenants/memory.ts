import type { Tenant } from './tenant.ts';

/**
 * What the driver itself takes of an idle GPU, at most, where nobody has seen it idle yet: captures show 0 MiB on H100, H200
 * and L40S, 9 to 26 MiB of each MIG part, some hundred with drivers before 510, which count what is reserved.
 */
const mostOfDriverMiB = 1024;
/**
 * An idle GPU is not always at the same figure. The smallest compute context takes more than this: captures have 230 MiB
 * for a video encoder, 500 MiB and more for CUDA on data-center cards.
 */
const toleranceMiB = 100;

/** What of the memory in use nobody who is listed accounts for; undefined: the list does not tell. Pure. */
export function unexplainedMiB(memoryMiB: number, tenants: readonly Tenant[]): number | undefined {
  if (tenants.some(({ usedMiB }) => usedMiB === undefined)) return undefined;
  return Math.max(0, memoryMiB - tenants.reduce((sum, { usedMiB = 0 }) => sum + usedMiB, 0));
}

/** So much in use is the driver's own. Pure. */
export function isDriversOwn(memoryMiB: number, baselineMiB: number | undefined): boolean {
  return memoryMiB <= (baselineMiB === undefined ? mostOfDriverMiB : baselineMiB + toleranceMiB);
}

/** What was in use, at the least, when nobody was there, by GPU; in one boot. */
export interface MemoryBaselines {
  readonly boot: string;
  readonly mib: Readonly<Record<string, number>>;
}

/** The baselines after a GPU was seen with nobody on it. The lowest counts: what leaks does not become the measure. Pure. */
export function withIdle(known: MemoryBaselines, idle: ReadonlyMap<string, number>): MemoryBaselines {
  const lower = [...idle].filter(
    ([gpu, memoryMiB]) =>
      memoryMiB < (known.mib[gpu] ?? Number.POSITIVE_INFINITY) && isDriversOwn(memoryMiB, known.mib[gpu]),
  );
  return lower.length === 0 ? known : { ...known, mib: { ...known.mib, ...Object.fromEntries(lower) } };
}
