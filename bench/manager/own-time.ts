/** A line of the recorder. `t` in milliseconds. */
export type Recorded =
  | { readonly t: number; readonly kind: 'begin'; readonly n: number; readonly what: string }
  | { readonly t: number; readonly kind: 'end'; readonly n: number }
  | Death;

interface Death {
  readonly t: number;
  readonly kind: 'die';
  readonly id: string;
}

export interface Refill {
  /** From the news of the run's end to the request that starts the next container, milliseconds. */
  readonly wholeMs: number;
  /** Of these: while no call to the engine or the server was under way. */
  readonly ownMs: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const starts = /^POST \S*\/containers\/[^/]+\/start/u;
/** Calls that stay open beside the work. */
const streams = /\/events\?|\/logs\?\S*follow=(?:1|true)/u;

/** One refill for each ended container that was followed by a start; runs must not overlap. Pure. */
export function refills(lines: readonly Recorded[]): readonly Refill[] {
  return lines.flatMap((line, index) => {
    if (line.kind !== 'die') return [];
    const start = lines.slice(index).find((next) => next.kind === 'begin' && starts.test(next.what));
    if (start === undefined) return [];
    const wholeMs = start.t - line.t;
    const calls = spans(lines, line);
    return [{ wholeMs, ownMs: wholeMs - covered(calls, { from: line.t, to: start.t }) }];
  });
}

/**
 * Returns the calls, without streams. Docker reports an exit before it stops the container: an output stream that begins
 * after that ends when Docker is done, and counts as a call.
 */
function spans(lines: readonly Recorded[], death: Death): readonly Span[] {
  const ends = new Map(lines.flatMap((line) => (line.kind === 'end' ? [[line.n, line.t] as const] : [])));
  return lines.flatMap((line) =>
    line.kind === 'begin' &&
    (!streams.test(line.what) || (line.t >= death.t && line.what.includes(`/containers/${death.id}/logs`)))
      ? [{ from: line.t, to: ends.get(line.n) ?? Number.POSITIVE_INFINITY }]
      : [],
  );
}

/** Returns how much of the window the spans cover; they are in the order of their starts. */
function covered(calls: readonly Span[], window: Span): number {
  let sum = 0;
  let reached = window.from;
  for (const { from, to } of calls) {
    const begin = Math.max(from, reached);
    const end = Math.min(to, window.to);
    if (end <= begin) continue;
    sum += end - begin;
    reached = end;
  }
  return sum;
}
