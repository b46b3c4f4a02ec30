import type { ContainerExit } from '../../shared/engine/engine.ts';
import type { Cause } from '../model.ts';
import { deleted, outdated, outOfMemory, remarkCause, unreadable } from './causes.ts';
import { telling, type Transcript } from './transcript.ts';

/** How a run ended. */
export interface Outcome {
  /** A job was taken: the slot works. */
  readonly ranJob: boolean;
  readonly job?: string;
  readonly result?: string;
  /** Why it ended without having done its work; undefined when all is well. */
  readonly cause?: Cause;
}

/** This manager had stopped it; with a cause where it did so because something was wrong. */
export interface Asked {
  readonly cause?: Cause;
}

/** Judges one ended run from its exit and its output. */
export function judge(exit: ContainerExit, transcript: Transcript, asked: Asked | undefined): Outcome {
  const { job, result, phase } = transcript;
  const cause = asked === undefined ? causeOf(exit, transcript) : asked.cause;
  return {
    ranJob: phase === 'done' || (phase === 'running' && !wasWithdrawn(exit, transcript)),
    ...(job === undefined ? {} : { job }),
    ...(result === undefined ? {} : { result }),
    ...(cause === undefined ? {} : { cause }),
  };
}

function causeOf(exit: ContainerExit, transcript: Transcript): Cause | undefined {
  if (transcript.phase === 'done') return ofDone(exit, transcript);
  if (exit.oomKilled) return outOfMemory;
  if (exit.code === 3 || exit.code === 4) return outdated;
  if (transcript.phase === 'running')
    return wasWithdrawn(exit, transcript) ? withdrawn : cutOff(exit, transcript);
  return withoutJob(exit, transcript);
}

/** Exit 0 and a result on the console prove neither that the job did its work nor that the server knows. */
function ofDone(exit: ContainerExit, transcript: Transcript): Cause | undefined {
  const { result } = transcript;
  if (result === 'abandoned') return abandoned;
  // The kernel takes the job before its agent, which then reports a failure like any other.
  if (exit.oomKilled && result === 'failed') return outOfMemory;
  const said = telling(transcript);
  if (exit.code === 0 || said === undefined) return undefined;
  if (said.kind === 'session-lost') return remarkCause(said);
  return {
    code: 'run.result-undelivered',
    what: `the agent could not tell the server how the job ended: ${said.words}`,
    next: 'cure the way to the server and run the job again; the server gives it up at most 15 minutes after the end of the agent',
  };
}

/** The job is announced before its lock is renewed for the first time; when that is refused, the agent leaves in silence. */
function wasWithdrawn({ code, oomKilled }: ContainerExit, transcript: Transcript): boolean {
  return code === 0 && !oomKilled && !transcript.leaving && transcript.remarks.length === 0;
}

function withoutJob(exit: ContainerExit, transcript: Transcript): Cause {
  const { strange, known, leaving, phase } = transcript;
  const said = telling(transcript);
  if (said !== undefined && !(said.kind === 'updating' && exit.code === 0)) return remarkCause(said);
  if (exit.code === 134 && strange !== undefined)
    return remarkCause({ kind: 'aborted', words: strange.words });
  if (phase === 'connecting' && strange !== undefined && (strange.stamped || (!known && exit.code === 0)))
    return unreadable(strange.words);
  // The login of an agent that was deleted is withdrawn, and it leaves without a word (403, TaskAgentAccessTokenExpired).
  if (exit.code === 0) return leaving ? stopped : deleted;
  if (exit.code > 128) return killed(exit.code);
  const words = strange === undefined ? '' : `: ${strange.words}`;
  const when = phase === 'connecting' ? 'before it listened for jobs' : 'while it waited for a job';
  return {
    code: 'run.failed',
    what: `the agent ended with exit code ${exit.code} ${when}${words}`,
    next: 'look at the log of the run',
  };
}

function cutOff({ code }: ContainerExit, transcript: Transcript): Cause {
  const said = telling(transcript);
  return {
    code: 'run.cut',
    what: `the agent ended in the middle of a job (exit code ${code})${said === undefined ? '' : `: ${said.words}`}`,
    next: 'look at the log of the run; a killed agent is reported lost by the server after about 15 minutes',
  };
}

const signals: Readonly<Record<number, string>> = { 130: 'SIGINT', 137: 'SIGKILL', 143: 'SIGTERM' };

function killed(code: number): Cause {
  return {
    code: 'agent.killed',
    what: `somebody or something ended the agent from outside (${signals[code] ?? `exit code ${code}`})`,
    next: 'look for who did: a restart of the machine, docker kill or stop, journalctl -k',
  };
}

const stopped: Cause = {
  code: 'agent.stopped',
  what: 'the agent was asked to leave while it waited for a job, by somebody or by the end of Docker or the machine',
  next: 'wait for the new one; to keep a slot from taking jobs, azp-fleet drain',
};

const withdrawn: Cause = {
  code: 'run.withdrawn',
  what: 'the server took the job back before the agent began it: the first renewal of its lock was refused',
  next: 'look at the job in Azure DevOps: it was cancelled, or the server gave it to another agent',
};

const abandoned: Cause = {
  code: 'run.abandoned',
  what: 'the server gave the job up while it ran here',
  next: 'look for a cut of the network that lasted longer than 10 minutes',
};
