/** Seconds before the next launch after so many failures in a row. */
const steps: readonly number[] = [0, 5, 10, 20, 40, 80, 160, 320];
const capS = 600;

/** Unscaled milliseconds to wait after the n-th failure in a row, n from 1. */
export function backoffMs(failures: number): number {
  return failures <= 0 ? 0 : (steps[failures - 1] ?? capS) * 1000;
}
