/** The interface to Azure DevOps. Types declare only the members in use; null in an answer is absent here. */
export interface Pool {
  readonly id: number;
  readonly name: string;
  readonly autoUpdate?: boolean;
  readonly isHosted?: boolean;
  readonly size?: number;
}

export interface AzureAgent {
  readonly id: number;
  readonly name: string;
  readonly version?: string;
  readonly enabled: boolean;
  readonly status: 'online' | 'offline';
  /** When the agent last went online or offline; absent when it was never online. */
  readonly statusChangedOn?: string;
  readonly systemCapabilities?: Readonly<Record<string, string>>;
  readonly userCapabilities?: Readonly<Record<string, string>>;
  readonly assignedRequest?: JobRequest;
  readonly lastCompletedRequest?: JobRequest;
  /** The server asks the agent to update itself. */
  readonly pendingUpdate?: object;
  readonly authorization?: { readonly clientId?: string; readonly authorizationUrl?: string };
  /** Further properties: `ServerUrl`, as `{$type, $value}`. */
  readonly properties?: Readonly<Record<string, { readonly $value?: unknown } | undefined>>;
}

export interface JobRequest {
  readonly requestId: number;
  readonly jobName?: string;
  readonly queueTime?: string;
  readonly assignTime?: string;
  readonly receiveTime?: string;
  readonly finishTime?: string;
  readonly lockedUntil?: string;
  readonly result?: string;
  readonly demands?: readonly string[];
  readonly reservedAgent?: { readonly id: number; readonly name: string };
  /** For a waiting request: the agents that satisfy its demands. */
  readonly matchedAgents?: readonly {
    readonly id: number;
    readonly enabled?: boolean;
    readonly status?: 'online' | 'offline';
  }[];
  /** The build, or the release if `planType` says so. */
  readonly owner?: {
    readonly id: number;
    readonly name: string;
    readonly _links?: { readonly web?: { readonly href: string } };
  };
  /** `Build`, `Release`, … */
  readonly planType?: string;
  /** The pipeline. */
  readonly definition?: { readonly id: number; readonly name: string };
  /** Id of the project. */
  readonly scopeId?: string;
  /** Id of the job's record in the timeline of its build: `j=` in the address of its page. */
  readonly jobId?: string;
  /** Why it failed, if the server knows. */
  readonly statusMessage?: string;
  /** Among others `ParallelismTag`: `Private` or `Public`. */
  readonly data?: Readonly<Record<string, string>>;
}

/** Selects agents of a pool, and the details beyond state and current job. */
export interface AgentQuery {
  /** Only agents with this owner id in their capabilities. A server may ignore the filter; its answer shows it. */
  readonly owner?: string;
  /** Include system and user capabilities, three quarters of the bytes of an agent. Default true. */
  readonly capabilities?: boolean;
  /** Include the last completed job. Default false. */
  readonly lastCompleted?: boolean;
  /** How many agents there may be: a longer answer is an error. Default: any number. */
  readonly count?: number;
}

/** Selects the details of one agent. */
export interface OneAgentQuery {
  /** Include system and user capabilities. Default true. */
  readonly capabilities?: boolean;
}

export interface NewAgent {
  readonly name: string;
  readonly version: string;
  readonly osDescription: string;
  readonly systemCapabilities: Readonly<Record<string, string>>;
  readonly userCapabilities?: Readonly<Record<string, string>>;
  /** False keeps an agent disabled that an administrator or a drain disabled. Default true. */
  readonly enabled?: boolean;
  /** Standard base64, big endian. */
  readonly publicKey: { readonly exponent: string; readonly modulus: string };
}

export interface Project {
  readonly name: string;
  /** The project's queues, one for each of its pools. */
  readonly queues: readonly { readonly id: number; readonly poolId: number }[];
}

/** How many jobs of private projects the organization may run at once on self-hosted agents. */
export interface ParallelJobs {
  /** Undefined: no limit. */
  readonly permitted: number | undefined;
  /** Jobs running now; undefined when the server does not report it. */
  readonly used: number | undefined;
}

export interface AzureClient {
  /** An invalid Retry-After of the server, or of a proxy, as long as its answers have it. */
  readonly oddPause?: string | undefined;
  /** Undefined when no pool has this name (case-insensitive). */
  findPool(name: string): Promise<Pool | undefined>;
  listPools(): Promise<readonly Pool[]>;
  /** Creates it with autoUpdate off; an existing one of that name is returned (eventual consistency and races included). */
  ensurePool(name: string): Promise<{ readonly pool: Pool; readonly created: boolean }>;
  setPoolAutoUpdate(poolId: number, autoUpdate: boolean): Promise<void>;
  listAgents(poolId: number, query?: AgentQuery): Promise<readonly AzureAgent[]>;
  getAgent(poolId: number, agentId: number): Promise<AzureAgent | undefined>;
  findAgent(poolId: number, name: string, query?: OneAgentQuery): Promise<AzureAgent | undefined>;
  createAgent(poolId: number, agent: NewAgent): Promise<AzureAgent>;
  /** PUT: replaces version, capabilities and key; keeps the id. */
  replaceAgent(poolId: number, agentId: number, agent: NewAgent): Promise<AzureAgent>;
  setAgentEnabled(poolId: number, agentId: number, enabled: boolean): Promise<void>;
  setUserCapabilities(
    poolId: number,
    agentId: number,
    capabilities: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** False when the server refuses because a job is running. */
  deleteAgent(poolId: number, agentId: number): Promise<boolean>;
  /** Pending and running requests of the pool. */
  unfinishedRequests(poolId: number): Promise<readonly JobRequest[]>;
  getRequest(poolId: number, requestId: number): Promise<JobRequest | undefined>;
  /** Undefined when the project does not exist. Read through its queues: reading projects needs another scope. */
  findProject(name: string): Promise<Project | undefined>;
  createQueue(project: string, pool: Pool): Promise<{ readonly id: number }>;
  isQueueAuthorized(project: string, queueId: number): Promise<boolean>;
  authorizeQueue(project: string, queueId: number): Promise<void>;
  /** Reads the limit of parallel jobs; undefined when the server does not report it. */
  parallelJobs(): Promise<ParallelJobs | undefined>;
}
