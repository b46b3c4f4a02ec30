import { foreignLine } from '../../base/foreign-text.ts';
import type { SeenContainer } from '../model.ts';

/** What the output of one agent has told so far. */
export interface Transcript {
  readonly phase: Exclude<SeenContainer['phase'], 'unknown'>;
  readonly job?: string;
  readonly result?: string;
  /** Remarks that explain an early end. */
  readonly remarks: readonly Remark[];
}

export type Remark =
  | 'session-conflict'
  | 'agent-deleted'
  | 'cannot-connect'
  | 'updating'
  | 'not-configured'
  | 'sees-no-gpu';

export const emptyTranscript: Transcript = { phase: 'connecting', remarks: [] };

const remarkPatterns: readonly (readonly [RegExp, Remark])[] = [
  [/A session for this agent already exists|SessionConflictException/, 'session-conflict'],
  [/agent no longer exists on the server|has been deleted|OAuth token.*revoked/i, 'agent-deleted'],
  [/Failed to create session|Agent connect error/, 'cannot-connect'],
  [/Agent update in progress|update process|Downloading .* agent/i, 'updating'],
  [/not configured|Must specify|config\.sh/i, 'not-configured'],
  [/Failed to initialize NVML|No devices were found/, 'sees-no-gpu'],
];

/** One more line of the agent's output (markers of the agent's console). */
export function read(transcript: Transcript, line: string): Transcript {
  const started = /: Running job: (.+)$/.exec(line);
  if (started?.[1] !== undefined)
    return { ...transcript, phase: 'running', job: foreignLine(started[1]).trim() };
  const ended = /: Job (.+) completed with result: (\w+)/.exec(line);
  if (ended?.[1] !== undefined && ended[2] !== undefined) {
    return {
      ...transcript,
      phase: 'done',
      job: foreignLine(ended[1]).trim(),
      result: ended[2].toLowerCase(),
    };
  }
  if (/: Listening for Jobs/i.test(line)) {
    return transcript.phase === 'connecting'
      ? { ...transcript, phase: 'listening', remarks: [] }
      : transcript;
  }
  const remark = remarkPatterns.find(([pattern]) => pattern.test(line))?.[1];
  if (remark === undefined || transcript.remarks.includes(remark)) return transcript;
  return { ...transcript, remarks: [...transcript.remarks, remark] };
}

export function readAll(text: string): Transcript {
  return text.split('\n').reduce(read, emptyTranscript);
}
