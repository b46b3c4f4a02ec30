import type { Cause } from '../model.ts';
import { remarkCause, unreadable } from './causes.ts';
import { telling, type Transcript } from './transcript.ts';

/**
 * How long an agent may take to listen for jobs. On an idle machine it takes 0.8 s, with every write of its address cache
 * failing 8 s; a session conflict it gives up itself after 212 s; the longest pause between two of its tries is 300 s, and
 * so long lives a session. What has not come to listen by then tries for ever.
 */
const connectMs = 5 * 60_000;

/** After its job an agent ends its session and leaves, within seconds; a process in the driver may never end. */
const leaveMs = 5 * 60_000;

/**
 * Why a running agent should be given up and a new one registered; undefined: it works, or may still come to.
 * `connectingMs`, `doneMs`: since it was first seen to connect, and to have ended its job, unscaled. Pure.
 */
export function stuckBecause(
  transcript: Transcript | undefined,
  { connectingMs, doneMs }: { readonly connectingMs: number; readonly doneMs: number },
): Cause | undefined {
  if (transcript?.phase === 'done') return doneMs < leaveMs ? undefined : doesNotEnd(transcript);
  if (transcript?.phase !== 'connecting') return undefined;
  const said = telling(transcript);
  // It would wait for four minutes and give up: whether the name can be had sooner, its registration decides.
  if (said?.kind === 'session-conflict') return remarkCause(said);
  if (connectingMs < connectMs) return undefined;
  if (said !== undefined) return remarkCause(said);
  const { strange, known } = transcript;
  if (strange !== undefined && (strange.stamped || !known)) return unreadable(strange.words);
  return {
    code: 'agent.silent',
    what: `the agent has not come to listen for jobs within ${connectMs / 60_000} minutes, and does not say why`,
    next: 'look at its own logs (azp-fleet logs HOST/SLOT --diag), and at the load of the host',
  };
}

function doesNotEnd({ job = '', endedAt }: Transcript): Cause {
  const when = endedAt === undefined ? '' : ` at ${endedAt}`;
  return {
    code: 'run.does-not-end',
    what: `job ${job} has ended${when}, but not its run: one of its processes hangs`,
    next: 'wait: it is stopped; if this stays, a process hangs in the driver (ps -eo pid,stat,comm shows D): drain the host, then azp-fleet reboot',
  };
}
