import type { ContainerExit } from '../../shared/engine/engine.ts';
import type { Cause } from '../model.ts';
import { mainRemark, type Transcript, type Remark, type RemarkKind } from './transcript.ts';

/** How a run ended. */
export interface Outcome {
  /** The run had a job: the slot works. */
  readonly ranJob: boolean;
  readonly job?: string;
  readonly result?: string;
  /** Why it ended without finishing its work, or what else happened; undefined: nothing. */
  readonly cause?: RunCause;
}

/** `info`: the job succeeded nevertheless. */
interface RunCause extends Cause {
  readonly severity?: 'info';
}

/** Returns the cause of a run that did not finish its work. */
export function faultOf<C extends { readonly severity?: 'info' }>({
  cause,
}: {
  readonly cause?: C | undefined;
}): C | undefined {
  return cause?.severity === 'info' ? undefined : cause;
}

/** A stop by this manager, with the cause if that was a fault. */
export interface StopRequest {
  readonly cause?: Cause;
}

/** Returns how a run ended, from its exit and its output. Pure. */
export function judge(exit: ContainerExit, transcript: Transcript, stop: StopRequest | undefined): Outcome {
  const { job, result, phase } = transcript;
  const cause = stop === undefined ? causeOf(exit, transcript) : stop.cause;
  return {
    ranJob: phase === 'done' || (phase === 'running' && !wasWithdrawn(exit, transcript)),
    ...(job === undefined ? {} : { job }),
    ...(result === undefined ? {} : { result }),
    ...(cause === undefined ? {} : { cause }),
  };
}

function causeOf(exit: ContainerExit, transcript: Transcript): RunCause | undefined {
  if (transcript.phase === 'done') return ofDone(exit, transcript);
  if (exit.oomKilled) return outOfMemory;
  if (exit.code === 3 || exit.code === 4) return outdated;
  if (transcript.phase === 'running')
    return wasWithdrawn(exit, transcript) ? withdrawn : cutOff(exit, transcript);
  return withoutJob(exit, transcript);
}

/** Finds the fault of a finished job: exit 0 and a result on the console do not prove that the server knows. */
function ofDone(exit: ContainerExit, transcript: Transcript): RunCause | undefined {
  const { result = '' } = transcript;
  if (result === 'abandoned') return abandoned;
  // The kernel kills the job before its agent, which then reports an ordinary failure.
  if (exit.oomKilled && result === 'failed') return outOfMemory;
  const remark = mainRemark(transcript);
  if (exit.code === 0 || remark === undefined) return exit.oomKilled ? survived(result) : undefined;
  if (remark.kind === 'session-lost') return remarkCause(remark);
  return {
    code: 'run.result-undelivered',
    what: `the agent could not report the job's result to the server: ${remark.words}`,
    next: 'fix the network path to the server and run the job again; the server gives it up at most 15 minutes after the end of the agent',
  };
}

/**
 * Returns whether the server withdrew the job: the agent prints the job, then exits without output when the first renewal of
 * its lock is refused.
 */
function wasWithdrawn({ code, oomKilled }: ContainerExit, transcript: Transcript): boolean {
  return code === 0 && !oomKilled && !transcript.leaving && transcript.remarks.length === 0;
}

function withoutJob(exit: ContainerExit, transcript: Transcript): Cause {
  const { unknownLine, known, leaving, phase } = transcript;
  const remark = mainRemark(transcript);
  if (remark !== undefined && !(remark.kind === 'updating' && exit.code === 0)) return remarkCause(remark);
  if (exit.code === 134 && unknownLine !== undefined)
    return remarkCause({ kind: 'aborted', words: unknownLine.words });
  if (
    phase === 'connecting' &&
    unknownLine !== undefined &&
    (unknownLine.stamped || (!known && exit.code === 0))
  )
    return unreadable(unknownLine.words);
  // An agent that was deleted loses its login and exits without output (403, TaskAgentAccessTokenExpired).
  if (exit.code === 0) return leaving ? stopped : deleted;
  if (exit.code > 128) return killed(exit.code);
  const words = unknownLine === undefined ? '' : `: ${unknownLine.words}`;
  const when = phase === 'connecting' ? 'before it listened for jobs' : 'while it waited for a job';
  return {
    code: 'run.failed',
    what: `the agent ended with exit code ${exit.code} ${when}${words}`,
    next: 'check the log of the run',
  };
}

function cutOff({ code }: ContainerExit, transcript: Transcript): Cause {
  const remark = mainRemark(transcript);
  return {
    code: 'run.cut',
    what: `the agent ended in the middle of a job (exit code ${code})${remark === undefined ? '' : `: ${remark.words}`}`,
    next: 'check the log of the run; the server reports a killed agent lost after about 15 minutes',
  };
}

const signals: Readonly<Record<number, string>> = { 130: 'SIGINT', 137: 'SIGKILL', 143: 'SIGTERM' };

function killed(code: number): Cause {
  return {
    code: 'agent.killed',
    what: `another process ended the agent (${signals[code] ?? `exit code ${code}`})`,
    next: 'check for a restart of the machine, docker kill or stop, and journalctl -k',
  };
}

const stopped: Cause = {
  code: 'agent.stopped',
  what: 'the agent was stopped while it waited for a job: by another user, or by the end of Docker or the machine',
  next: 'wait for the new agent; to keep jobs off a slot, use azp-fleet drain',
};

const withdrawn: Cause = {
  code: 'run.withdrawn',
  what: 'the server took the job back before the agent began it: the first renewal of its lock was refused',
  next: 'check the job in Azure DevOps: it was canceled, or the server gave it to another agent',
};

const abandoned: Cause = {
  code: 'run.abandoned',
  what: 'the server gave the job up while it ran here',
  next: 'check for a network outage of more than 10 minutes',
};

/**
 * Longest time until an agent listens for jobs. On an idle machine it takes 0.8 s, and 8 s when every write of its address
 * cache fails. It gives up a session conflict after 212 s; its longest pause between two attempts is 300 s, which is also
 * the lifetime of a session. An agent that does not listen by then tries forever.
 */
const connectMs = 5 * 60_000;

/** Longest time from the end of a job to the exit of its agent: usually seconds, but a process may hang in the driver. */
const leaveMs = 5 * 60_000;

/**
 * Returns why a running agent must be replaced; undefined: it works, or is still starting.
 * `connectingMs`, `doneMs`: unscaled, since it was first observed connecting, and with an ended job. Pure.
 */
export function stuckBecause(
  transcript: Transcript | undefined,
  { connectingMs, doneMs }: { readonly connectingMs: number; readonly doneMs: number },
): Cause | undefined {
  if (transcript?.phase === 'done') return doneMs < leaveMs ? undefined : doesNotEnd(transcript);
  if (transcript?.phase !== 'connecting') return undefined;
  const remark = mainRemark(transcript);
  // It would wait for four minutes and give up; a new registration can be faster.
  if (remark?.kind === 'session-conflict') return remarkCause(remark);
  if (connectingMs < connectMs) return undefined;
  if (remark !== undefined) return remarkCause(remark);
  const { unknownLine, known } = transcript;
  if (unknownLine !== undefined && (unknownLine.stamped || !known)) return unreadable(unknownLine.words);
  return {
    code: 'agent.silent',
    what: `the agent does not listen for jobs after ${connectMs / 60_000} minutes, and prints no reason`,
    next: 'check its own logs (azp-fleet logs HOST/SLOT --diag), and the load of the host',
  };
}

function doesNotEnd({ job = '', endedAt }: Transcript): Cause {
  const when = endedAt === undefined ? '' : ` at ${endedAt}`;
  return {
    code: 'run.does-not-end',
    what: `job ${job} has ended${when}, but its run has not: one of its processes hangs`,
    next: 'wait: the manager stops it; if this stays, a process hangs in the driver (ps -eo pid,stat,comm shows D): drain the host, then azp-fleet reboot',
  };
}

/**
 * Returns since when the session that a run left open has had no polls, ISO 8601; undefined if it left none. The listener
 * closes its session when it exits, unless the process is killed (a signal with v5, an abort, the machine) or the server is
 * unreachable. v4 also closes it on SIGTERM, so only the server shows whether the session exists. A conflict means that an
 * agent from before this run left a session. Pure.
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

/** Seconds, never negative. */
export interface Spans {
  /** From the start to the job, or to the end of a run without one. */
  readonly waitedS?: number;
  /** Of the job alone. */
  readonly durationS?: number;
}

/**
 * Returns how long a run waited and how long its job took. The agent stamps the start and the end of a job itself, in
 * whole seconds; a job that was cut off ended with its agent. A run that never started (Docker writes the year 1) has no
 * times. Pure.
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

export const outputLost: Cause = {
  code: 'run.output-lost',
  what: 'Docker does not return the output of the ended container: how its job ended is unknown',
  next: 'check the job in Azure DevOps, and Docker on the host: journalctl -u docker',
};

/** The cause for each kind of remark of an agent. */
const remarkCauses: Readonly<Record<RemarkKind, Cause>> = {
  'session-conflict': {
    code: 'agent.session-conflict',
    what: 'the server still holds a session of this agent',
    next: 'wait 5 minutes for it to expire; if it returns, find the other machine that runs an agent of this name',
  },
  'session-lost': {
    code: 'agent.session-lost',
    what: "the server ended the agent's session",
    next: 'wait for the new agent; if it happens again, check for network outages of more than 5 minutes',
  },
  'agent-deleted': {
    code: 'agent.deleted',
    what: 'the agent was deleted in the pool',
    next: 'wait: the manager registers it again',
  },
  login: {
    code: 'agent.login-refused',
    what: 'Azure DevOps refuses the login of the agent',
    next: 'wait: the manager registers it again with a new key; if this stays, check whether another machine registers agents of this name, and try registration: config',
  },
  clock: {
    code: 'agent.clock-skew',
    what: "this host's clock differs from the server's by more than five minutes: logins are refused",
    next: 'run `timedatectl set-ntp true` on the host',
  },
  network: {
    code: 'agent.cannot-connect',
    what: 'the agent cannot reach Azure DevOps',
    next: 'check network, name resolution, proxy and certificates as a container on this host sees them',
  },
  'not-configured': {
    code: 'agent.not-configured',
    what: 'the agent did not find its registration',
    next: 'use an image that was built by azp-fleet, or one with the same layout',
  },
  updating: {
    code: 'image.outdated',
    what: 'the server requires a newer agent than the image has',
    next: 'turn autoUpdate of the pool off and raise the agent version of the inventory',
  },
  'sees-no-gpu': {
    code: 'gpu.lost-in-container',
    what: 'the container lost its GPU',
    next: 'wait for the new container; if it happens again, check the health of the host',
  },
  aborted: {
    code: 'agent.aborted',
    what: 'the agent program gave up at its start',
    next: 'install the library that it names, in the image or, with mode: host, on the host',
  },
  failed: {
    code: 'agent.failed',
    what: 'the agent gave up',
    next: 'check the log of the run, and its own logs: azp-fleet logs HOST/SLOT --diag',
  },
};

/** Remarks whose text names the address, key or library; the cause quotes it. */
const quoted: ReadonlySet<RemarkKind> = new Set([
  'login',
  'clock',
  'network',
  'aborted',
  'failed',
  'session-conflict',
]);

export function remarkCause({ kind, words }: Remark): Cause {
  const cause = remarkCauses[kind];
  return quoted.has(kind) && words !== '' ? { ...cause, what: `${cause.what}: ${words}` } : cause;
}

export const outdated = remarkCauses.updating;

const deleted = remarkCauses['agent-deleted'];

const outOfMemory: Cause = {
  code: 'run.out-of-memory',
  what: 'job exceeded its memory limit: the kernel killed one of its processes',
  next: 'raise the memory limit of the slot, or let the job use less',
};

/** Describes a job whose result is not a failure, though the kernel killed one of its processes. */
function survived(result: string): RunCause {
  const how = result.startsWith('succeeded') ? 'succeeded' : `was ${result}`;
  return {
    ...outOfMemory,
    severity: 'info',
    what: `one process of the job exceeded its memory limit and was killed; the job ${how}`,
  };
}

/** Returns the cause for an agent whose output has another language or format. */
function unreadable(words: string): Cause {
  return {
    code: 'agent.unreadable',
    what: `cannot read this agent's messages: ${words}`,
    next: 'use an image that was built by azp-fleet, or let the agent speak English: LC_ALL=C.UTF-8 in its environment',
  };
}
