import type { ContainerExit } from '../../shared/engine/engine.ts';
import type { Transcript } from './transcript.ts';

/** Seconds, never negative. */
export interface Spans {
  /** From the start to the job, or to the end of a run without one. */
  readonly waitedS?: number;
  /** Of the job alone. */
  readonly durationS?: number;
}

/**
 * How long a run waited and how long its job took. The agent stamps the beginning and the end of a job itself, in whole
 * seconds; a job that was cut off ended with its agent. What never started (Docker writes the year 1) has no times. Pure.
 */
export function spansOf(
  exit: Pick<ContainerExit, 'startedAt' | 'finishedAt'>,
  { beganAt, endedAt }: Pick<Transcript, 'beganAt' | 'endedAt'>,
): Spans {
  const started = milliseconds(exit.startedAt);
  const finished = milliseconds(exit.finishedAt);
  const began = milliseconds(beganAt);
  return {
    ...span('waitedS', started, began ?? finished),
    ...span('durationS', began, milliseconds(endedAt) ?? finished),
  };
}

function milliseconds(time: string | undefined): number | undefined {
  const parsed = Date.parse(time ?? '');
  return parsed > 0 ? parsed : undefined;
}

function span(name: keyof Spans, from: number | undefined, to: number | undefined): Spans {
  return from === undefined || to === undefined ? {} : { [name]: Math.max(0, (to - from) / 1000) };
}
