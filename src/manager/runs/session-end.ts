import type { ContainerExit } from '../../shared/engine/engine.ts';
import type { Transcript } from './transcript.ts';

/**
 * Since when nobody polls the session that a run has left with the server: ISO 8601, undefined when it left none. The
 * listener closes its session on its way out, whatever the reason, unless something ends the process itself (a signal
 * with v5, an abort, the machine) or the server is away. Whether the server still has it, it says itself: v4 closes it on
 * SIGTERM, too. A conflict shows a session of somebody who had ended before this run began. Pure.
 */
export function sessionLeftSince(
  exit: Pick<ContainerExit, 'code' | 'startedAt' | 'finishedAt'>,
  { phase, remarks }: Pick<Transcript, 'phase' | 'remarks'>,
): string | undefined {
  const last = remarks.at(-1)?.kind;
  if (phase === 'connecting') return last === 'session-conflict' ? exit.startedAt : undefined;
  const cutOff = exit.code >= 128 || (exit.code === 2 && last === 'network');
  return cutOff ? exit.finishedAt : undefined;
}
