/** A line of the recorder. `t` in milliseconds. */
export type Recorded =
  | { readonly t: number; readonly kind: 'begin'; readonly n: number; readonly what: string }
  | { readonly t: number; readonly kind: 'end'; readonly n: number }
  | Death
  | Said;

interface Death {
  readonly t: number;
  readonly kind: 'die';
  readonly id: string;
}

/** A line of an agent. */
interface Said {
  readonly t: number;
  readonly kind: 'listening' | 'running' | 'completed';
  readonly id: string;
}

export interface Refill {
  /** From the news of the run's end to the request that starts the next container, milliseconds. */
  readonly wholeMs: number;
  /** Of these: while no call to the engine or the server was under way. */
  readonly ownMs: number;
  /** Of these: while a call to the server was under way, and one to the engine. Calls to both may overlap. */
  readonly serverMs: number;
  readonly engineMs: number;
}

/** How long the parts of one run took, milliseconds; undefined: not seen. */
export interface Run {
  /** The engine's start of the container, with its hooks. */
  readonly startMs: number | undefined;
  /** From there to "Listening for Jobs". */
  readonly agentStartMs: number | undefined;
  /** From "Running job" to "completed". */
  readonly jobMs: number | undefined;
  /** From there to the exit. */
  readonly agentEndMs: number | undefined;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const starts = /^POST \S*\/containers\/([^/]+)\/start/u;
const server = /\/_apis\//u;
/** Calls that stay open beside the work. */
const streams = /\/events\?|\/logs\?\S*follow=(?:1|true)/u;

/** One refill for each ended container that was followed by a start; runs must not overlap. Pure. */
export function refills(lines: readonly Recorded[]): readonly Refill[] {
  return lines.flatMap((line, index) => {
    if (line.kind !== 'die') return [];
    const start = lines.slice(index).find((next) => next.kind === 'begin' && starts.test(next.what));
    if (start === undefined) return [];
    const wholeMs = start.t - line.t;
    const window = { from: line.t, to: start.t };
    const inCalls = (wanted: (what: string) => boolean): number =>
      covered(spans(lines, line, wanted), window);
    return [
      {
        wholeMs,
        ownMs: wholeMs - inCalls(() => true),
        serverMs: inCalls((what) => server.test(what)),
        engineMs: inCalls((what) => !server.test(what)),
      },
    ];
  });
}

/** One for each container that was started. Pure. */
export function runs(lines: readonly Recorded[]): readonly Run[] {
  return lines.flatMap((line) => {
    const id = line.kind === 'begin' ? starts.exec(line.what)?.[1] : undefined;
    if (line.kind !== 'begin' || id === undefined) return [];
    const at = (kind: Said['kind'] | 'die'): number | undefined =>
      lines.find((each) => each.kind === kind && each.id === id)?.t;
    const started = lines.find((each) => each.kind === 'end' && each.n === line.n)?.t;
    return [
      {
        startMs: between(line.t, started),
        agentStartMs: between(started, at('listening')),
        jobMs: between(at('running'), at('completed')),
        agentEndMs: between(at('completed'), at('die')),
      },
    ];
  });
}

/** Returns what the jobs of this length (1 s, or 30 s) took beyond it, in milliseconds. Pure. */
export function jobsOf(all: readonly Run[], ownMs: number): readonly number[] {
  return all.flatMap(({ jobMs }) =>
    jobMs !== undefined && jobMs >= 0.9 * ownMs && jobMs < 15 * ownMs ? [jobMs - ownMs] : [],
  );
}

function between(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Math.max(0, to - from);
}

/**
 * Returns the calls, without streams. Docker reports an exit before it stops the container: an output stream that begins
 * after that ends when Docker is done, and counts as a call.
 */
function spans(lines: readonly Recorded[], death: Death, wanted: (what: string) => boolean): readonly Span[] {
  const ends = new Map(lines.flatMap((line) => (line.kind === 'end' ? [[line.n, line.t] as const] : [])));
  return lines.flatMap((line) =>
    line.kind === 'begin' &&
    wanted(line.what) &&
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
