/** What an idle line saves up: this many milliseconds of its rate may go at once. */
const burstMs = 250;

/** A line of limited rate, shared in the order of asking: a token bucket, kept as the time when it is free again. */
export interface Line {
  /** Bytes per second. */
  readonly rate: number;
  /** Milliseconds on the caller's clock: when all that was let through will have passed. */
  readonly freeAt: number;
}

export function startOf(rate: number, now: number): Line {
  return { rate, freeAt: now };
}

/** Gives a piece its place in the line, and says how long its sender has to wait. Pure. */
export function reserve(
  line: Line,
  bytes: number,
  now: number,
): { readonly line: Line; readonly waitMs: number } {
  const from = Math.max(line.freeAt, now - burstMs);
  return {
    line: { ...line, freeAt: from + (bytes / line.rate) * 1000 },
    waitMs: Math.max(0, from - now),
  };
}
