/** What is kept of one run after its container is gone. /var/lib/azp-fleet/runs/SLOT/RUN.json, GET /v1/runs. */
export interface RunRecord {
  readonly schema: 1;
  readonly run: string;
  readonly slot: string;
  /** Which of this host's runs it was, from 1; sorts where clocks were set. Absent: written by an earlier version. */
  readonly sequence?: number;
  readonly agent: string;
  readonly image: string;
  readonly gpus: readonly string[];
  /** ISO 8601; absent when the container never started. */
  readonly startedAt?: string;
  readonly finishedAt: string;
  /** Seconds from the start of the agent to its job, or to its end without one. Absent: written by an earlier version. */
  readonly waitedS?: number;
  /** Seconds that the job took, by the agent's own stamps; absent without one. Earlier versions: the agent's whole life. */
  readonly durationS?: number;
  readonly exitCode?: number;
  readonly oomKilled: boolean;
  readonly job?: string;
  /** succeeded, succeededwithissues, failed, canceled, … */
  readonly result?: string;
  /** What was wrong: why no job was done, or why it failed where that shows from outside. */
  readonly cause?: { readonly code: string; readonly what: string; readonly next: string };
  /** The server still showed a job on this agent after its end; `until`: when it gives it up, ISO 8601. */
  readonly unfinished?: { readonly job: string; readonly until?: string };
  /** The agent's own logs of this run are kept: GET /v1/diagnostics. */
  readonly diagnostics?: boolean;
  /** The last lines of the agent's output. */
  readonly log: readonly string[];
}
