import { entryOf } from '../../shared/base/codes/tables.ts';

type CauseKind = 'permanent' | 'conflict' | 'startup' | 'other';

/** Classifies a cause by how it ends, as its entry declares. Absent: no problem. Pure. */
export function kindOf(code: string | undefined): CauseKind {
  return code === undefined ? 'startup' : (entryOf(code)?.[2]?.kind ?? 'other');
}

/** Milliseconds before a missing agent is reported. Between two jobs an agent is away for about ten seconds. */
export const settleMs = 60_000;
/**
 * Milliseconds for a start or a stop. An agent listens about ten seconds after its container's start, and an idle one stops within
 * seconds; several at once take longer.
 */
export const startMs = 90_000;
