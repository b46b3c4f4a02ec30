import type { Code } from '../../shared/base/codes/code.ts';

/** The state of an agent for a job that it could run. */
export type AgentState =
  | 'idle'
  | 'busy'
  | 'starting'
  | 'draining'
  | 'drained'
  | 'quarantined'
  | 'disabled'
  | 'offline';

/** An agent, and why it does not run the job. */
export interface AgentReport {
  readonly agent: string;
  /** Its host in the inventory. */
  readonly host?: string;
  readonly state: AgentState;
  /** ISO 8601. */
  readonly since?: string;
  /** The job that it runs. */
  readonly job?: string;
  /** The number of that job's build. */
  readonly build?: number;
  /** The page of that job. */
  readonly link?: string;
  /** Why it is in this state. */
  readonly why?: string;
  /** Why its manager was not read. */
  readonly unknown?: string;
  /** The demands that it does not meet. */
  readonly lacks?: readonly { readonly demand: string; readonly has?: string }[];
}

/** One reason for which a job waits or failed. */
export interface Cause {
  readonly code: Code;
  readonly what: string;
  readonly next: string;
  /** It may be the reason: what would show it could not be read. */
  readonly isPossible?: true;
  readonly agents?: readonly AgentReport[];
}

/** A part that could not be read, and why. */
export interface Unread {
  readonly what: string;
  readonly why: string;
}

export type JobState =
  | 'waiting'
  | 'sent'
  | 'running'
  | 'failed at once'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'lost'
  | 'ended';

/** One job of the build. */
export interface JobReport {
  readonly name: string;
  readonly pool: string;
  readonly state: JobState;
  /** ISO 8601. */
  readonly queuedAt?: string;
  readonly demands: readonly string[];
  /** The agent that has it, or had it. */
  readonly agent?: string;
  /** Jobs of the pool that wait longer. */
  readonly ahead?: number;
  /** Worst first. Empty: it needs nothing. */
  readonly causes: readonly Cause[];
}

/** A job in the queue of a pool. */
export interface QueuedJob {
  readonly pool: string;
  readonly build: number;
  /** The build's number on its page. */
  readonly buildName?: string;
  readonly pipeline?: string;
  readonly job: string;
  readonly state: JobState;
  readonly queuedAt?: string;
}

/** The answer to `doctor --job`. */
export interface WaitingReport {
  readonly build: {
    readonly id: number;
    readonly name?: string;
    readonly pipeline?: string;
    readonly project?: string;
    /** `notStarted`, `inProgress`, `completed`: only with Build (Read). */
    readonly status?: string;
    readonly result?: string;
  };
  /** Its jobs in the queues of pools, in their order. */
  readonly jobs: readonly JobReport[];
  /** Reasons that concern the build before any of its jobs is queued. */
  readonly causes: readonly Cause[];
  /** What is queued instead; only if no job of the build was found. */
  readonly queue: readonly QueuedJob[];
  readonly unknown: readonly Unread[];
}
