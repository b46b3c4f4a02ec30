import type { FakeGate, FakeRequest, JobContainer } from '../world/state.ts';

export interface QueueJobs {
  readonly pool: string;
  /** `vision` unless given; it must exist. */
  readonly project?: string;
  readonly name?: string;
  /** How many; 1 unless given. Names get a number then. */
  readonly count?: number;
  readonly demands?: readonly string[];
  /** Run by bash in the work folder. Without it the job sleeps for `seconds`. */
  readonly script?: string;
  readonly seconds?: number;
  /** Additional environment of the script. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The same, as secret variables: agents mask their values with `***` in every log. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** The job runs in this container. */
  readonly container?: JobContainer;
  /** 12 unless given; below 8 the listener reports the end of a job instead of its worker. */
  readonly planVersion?: number;
}

export interface MakeAgents {
  readonly pool: string;
  /** 1 to 100,000. */
  readonly count: number;
  /** `{n}` becomes 1, 2, 3 …; `agent-{n}` unless given. */
  readonly namePattern?: string;
  /** Each has a session for five minutes; no program takes the jobs that it gets. */
  readonly online?: boolean;
  /** True unless given. */
  readonly enabled?: boolean;
  readonly version?: string;
  /** User capabilities beside those of a machine with a GPU. */
  readonly capabilities?: Readonly<Record<string, string>>;
}

/** A run of a YAML pipeline with one stage. */
export interface BeginBuild {
  /** The pool's name in the project. */
  readonly pool: string;
  readonly project?: string;
  /** Name of the pipeline; `train` unless given. */
  readonly title?: string;
  /** Number of the pipeline; 1 unless given. */
  readonly definition?: number;
  /** Number of equal jobs. */
  readonly jobs?: number;
  readonly demands?: readonly string[];
  /** How long each sleeps. */
  readonly seconds?: number;
  /** Checks of its stage, after the permission of the pool. */
  readonly checks?: readonly FakeGate[];
}

export interface NewPipeline {
  readonly id: number;
  readonly title: string;
  readonly project: string;
  readonly pool: string;
}

/** One queued job, times in ISO 8601. */
export interface FakeJob {
  readonly id: number;
  readonly name: string;
  readonly pool: string;
  readonly state: 'waiting' | 'assigned' | 'running' | 'done';
  readonly result?: FakeRequest['result'];
  /** The cause of a failure or a lost job, if the server reports it. */
  readonly message?: string;
  readonly queuedAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** If the agent does not renew the lock, the job is lost some minutes after this. */
  readonly lockedUntil?: string;
  /** Each start of the job. `container` is the host name that the agent reported, a container's short id. */
  readonly runs: readonly {
    readonly agent: string;
    readonly session: string;
    readonly container: string;
    readonly at: string;
  }[];
  /** The agent's report of the steps, including its own ones. */
  readonly steps: readonly { readonly name: string; readonly state: string; readonly result?: string }[];
  /** The script's output; `/_fake/jobs/ID/log` has the whole job. */
  readonly log: string;
}

export interface FakeOverview {
  readonly organization: string;
  /** How many times faster than the real service the slow rules run. */
  readonly speed: number;
  readonly pools: readonly {
    readonly id: number;
    readonly name: string;
    readonly autoUpdate: boolean;
    readonly agents: readonly {
      readonly id: number;
      readonly name: string;
      readonly status: 'online' | 'offline';
      readonly enabled: boolean;
      readonly busy: boolean;
      readonly userCapabilities: Readonly<Record<string, string>>;
      readonly container?: string;
    }[];
  }[];
}
