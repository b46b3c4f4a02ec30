/** The smallest value that at least this share (0 to 1) of the values do not exceed; 0 without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** Median and range of a measurement's rounds. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Pure. An even number of rounds has the lower middle value as its median. */
export function spread(values: readonly number[]): Spread {
  return { median: percentile(values, 0.5), least: percentile(values, 0), most: percentile(values, 1) };
}

/** Divides round by round, so that a busy machine is busy for both. Pure. */
export function ratios(over: readonly number[], under: readonly number[]): readonly number[] {
  return over.slice(0, under.length).map((value, round) => value / (under[round] ?? Number.NaN));
}

/** Fits `cost = a × size^exponent` by least squares of the logarithms, and returns the exponent. Pure. */
export function exponent(points: readonly (readonly [size: number, cost: number])[]): number {
  const logs = points.map(([size, cost]) => [Math.log(size), Math.log(cost)] as const);
  const mean = (of: (log: (typeof logs)[number]) => number): number =>
    logs.reduce((sum, log) => sum + of(log), 0) / logs.length;
  const [x, y] = [mean(([size]) => size), mean(([, cost]) => cost)];
  const shared = mean(([size, cost]) => (size - x) * (cost - y));
  return shared / mean(([size]) => (size - x) ** 2);
}
