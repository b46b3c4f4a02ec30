import type { ContainerExit } from '../../shared/engine/engine.ts';
import type { Cause } from '../model.ts';
import { telling, type Transcript, type Remark, type RemarkKind } from './transcript.ts';

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

export const outputLost: Cause = {
  code: 'run.output-lost',
  what: 'Docker does not give out what the ended container has written, so that nobody knows how its job ended',
  next: 'look at the job in Azure DevOps, and at Docker on the host: journalctl -u docker',
};

/** What the manager says of each remark of an agent, and what is to be done. Its own words follow where they tell more. */
const remarkCauses: Readonly<Record<RemarkKind, Cause>> = {
  'session-conflict': {
    code: 'agent.session-conflict',
    what: 'the server still holds a session of this agent',
    next: 'wait 5 minutes for it to expire; if it comes back, look for another machine that runs an agent of this name',
  },
  'session-lost': {
    code: 'agent.session-lost',
    what: "the server ended the agent's session",
    next: 'wait for the new agent; if it happens again, look for cuts of the network that last longer than 5 minutes',
  },
  'agent-deleted': {
    code: 'agent.deleted',
    what: 'the agent was deleted in the pool',
    next: 'wait: it is registered again',
  },
  login: {
    code: 'agent.login-refused',
    what: 'Azure DevOps refuses the login of the agent',
    next: 'wait: it is registered again with a fresh key; if it stays, see whether somebody else registers agents of this name, and try registration: config',
  },
  clock: {
    code: 'agent.clock-skew',
    what: "this host's clock is more than five minutes off the server's, so that no login is accepted",
    next: 'set the clock and keep it set: timedatectl set-ntp true on the host',
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
    what: 'the server wants a newer agent than the image holds',
    next: 'turn autoUpdate of the pool off and raise the agent version of the inventory',
  },
  'sees-no-gpu': {
    code: 'gpu.lost-in-container',
    what: 'the container lost its GPU',
    next: 'wait for the new container; if it happens again, look at the health of the host',
  },
  aborted: {
    code: 'agent.aborted',
    what: 'the agent program gave up at its start',
    next: 'install what it names, in the image or, with mode: host, on the host',
  },
  failed: {
    code: 'agent.failed',
    what: 'the agent gave up',
    next: 'look at the log of the run, and at its own logs: azp-fleet logs HOST/SLOT --diag',
  },
};

/** Where the agent's own words tell which address, key or library it is about. */
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
  what: 'memory ran out: the kernel ended a process of the job',
  next: 'raise the memory limit of the slot, or let the job use less',
};

/** Other people's agents, other languages: what it does cannot be told from what it says. */
function unreadable(words: string): Cause {
  return {
    code: 'agent.unreadable',
    what: `cannot read this agent's messages: ${words}`,
    next: 'use an image that was built by azp-fleet, or let the agent speak English: LC_ALL=C.UTF-8 in its environment',
  };
}
