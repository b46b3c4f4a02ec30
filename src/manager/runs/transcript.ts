import type { SeenContainer } from '../model.ts';
import { readLine, type ConsoleEvent, type Remark } from './console.ts';

/** What the output of one agent has told so far. */
export interface Transcript {
  readonly phase: Exclude<SeenContainer['phase'], 'unknown'>;
  readonly job?: string;
  readonly result?: string;
  /** When the job began and ended, by the console's own stamps; ISO 8601. */
  readonly beganAt?: string;
  readonly endedAt?: string;
  /** What is wrong and not overcome, the last at the end, one of a kind. */
  readonly remarks: readonly Remark[];
  /** It was asked to leave. */
  readonly leaving: boolean;
  /** One of the agent's lines has been recognised. */
  readonly known: boolean;
  /** The first line that was not, and whether it is the agent's for all that. */
  readonly strange?: { readonly words: string; readonly stamped: boolean };
}

export const emptyTranscript: Transcript = { phase: 'connecting', remarks: [], leaving: false, known: false };

/** One more line of the agent's output. The same object where it tells nothing new. */
export function read(transcript: Transcript, line: string): Transcript {
  const event = readLine(line);
  if (event.kind === 'unknown') return withStrange(transcript, event);
  const next = take(transcript, event);
  return next.known ? next : { ...next, known: true };
}

function take(transcript: Transcript, event: Exclude<ConsoleEvent, { kind: 'unknown' }>): Transcript {
  switch (event.kind) {
    case 'connecting':
      // Once more in the middle of its life: its session was lost, and it makes a new one without another word.
      return transcript;
    case 'listening':
      return transcript.phase === 'connecting'
        ? { ...transcript, phase: 'listening', remarks: [] }
        : transcript;
    case 'reconnected':
      return transcript.remarks.length === 0 ? transcript : { ...transcript, remarks: [] };
    case 'running':
      return { ...transcript, phase: 'running', job: event.job, beganAt: event.at };
    case 'completed':
      return { ...transcript, phase: 'done', job: event.job, result: event.result, endedAt: event.at };
    case 'leaving':
      return transcript.leaving ? transcript : { ...transcript, leaving: true };
    case 'remark':
      return withRemark(transcript, event.remark);
    default:
      throw new Error(`no reading of ${JSON.stringify(event satisfies never)}`);
  }
}

function withRemark(transcript: Transcript, remark: Remark): Transcript {
  const last = transcript.remarks.at(-1);
  if (last?.kind === remark.kind && (last.words !== '' || remark.words === '')) return transcript;
  const others = transcript.remarks.filter(({ kind }) => kind !== remark.kind);
  return { ...transcript, remarks: [...others, remark] };
}

/** A line that only the agent can have written tells more than the first one. */
function withStrange(
  transcript: Transcript,
  { words, stamped }: { readonly words: string; readonly stamped: boolean },
): Transcript {
  if (words === '') return transcript;
  const { strange } = transcript;
  if (strange !== undefined && (strange.stamped || !stamped)) return transcript;
  return { ...transcript, strange: { words, stamped } };
}

export function readAll(text: string): Transcript {
  return text.split('\n').reduce(read, emptyTranscript);
}

/** The remark that explains most: the last, but one that says something before those that only say that it failed. */
export function telling({ remarks }: Pick<Transcript, 'remarks'>): Remark | undefined {
  return remarks.findLast(({ kind }) => kind !== 'failed' && kind !== 'updating') ?? remarks.at(-1);
}
