/** What is remembered of how often a slot was closed because of its GPUs. Times are monotonic. */
export interface Gate {
  /** When it was closed, within the last hour. */
  readonly closings: readonly number[];
  /** What it was closed for the last time. */
  readonly because: string;
  /** It stays closed until then, though nothing is found any more. */
  readonly until: number;
  /** Something was found at the last look. */
  readonly isBad: boolean;
}

export const newGate: Gate = { closings: [], because: '', until: Number.NEGATIVE_INFINITY, isBad: false };

const hourMs = 3_600_000;
const minuteMs = 60_000;

/**
 * How long a slot stays closed after the last sign of what closed it; `closings`: how often within an hour. Once and
 * twice it opens with the first look that finds nothing. Whatever comes three times comes again: each time a job and an
 * agent are lost to it, so the rest grows to the hour that is looked at. Unscaled milliseconds. Pure.
 */
export function restMs(closings: number): number {
  return closings < 3 ? 0 : Math.min(60, 10 * 2 ** (closings - 3)) * minuteMs;
}

/**
 * A slot's gate after a look. `found`: what closes it now. What is found while it rests is no closing, and the rest
 * begins anew. `scaled`: how unscaled milliseconds pass. Pure.
 */
export function afterLook(
  gate: Gate,
  look: { readonly at: number; readonly found: string | undefined },
  scaled: (ms: number) => number,
): Gate {
  const { at, found } = look;
  if (found === undefined) return { ...gate, isBad: false };
  const recent = gate.closings.filter((closing) => at - closing < scaled(hourMs));
  const wasOpen = !gate.isBad && at >= gate.until;
  const closings = wasOpen ? [...recent, at] : recent;
  return { closings, because: found, until: at + scaled(restMs(closings.length)), isBad: true };
}
