/** The narrow interface to Azure DevOps. Types carry only what we use; answers may hold more. What is null there is absent here. */
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
  /** When it went online or offline; absent: it has never been online. */
  readonly statusChangedOn?: string;
  readonly systemCapabilities?: Readonly<Record<string, string>>;
  readonly userCapabilities?: Readonly<Record<string, string>>;
  readonly assignedRequest?: JobRequest;
  readonly lastCompletedRequest?: JobRequest;
  /** The server wants it to update itself. */
  readonly pendingUpdate?: object;
  readonly authorization?: { readonly clientId?: string; readonly authorizationUrl?: string };
  /** What the server tells beside: `ServerUrl`, as `{$type, $value}`. */
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
  /** Of one that waits: whom the server found able to take it. */
  readonly matchedAgents?: readonly {
    readonly id: number;
    readonly enabled?: boolean;
    readonly status?: 'online' | 'offline';
  }[];
  readonly owner?: {
    readonly id: number;
    readonly name: string;
    readonly _links?: { readonly web?: { readonly href: string } };
  };
}

/** Which agents of a pool, and what is told of each beside its state and its present job. */
export interface AgentQuery {
  /** Only those that carry this mark of their owner. Whether the server looks at it, its answer shows. */
  readonly owner?: string;
  /** Capabilities, of the system and of its users: three quarters of what there is to tell of an agent. Default true. */
  readonly capabilities?: boolean;
  /** The job that it ran last. Default false. */
  readonly lastCompleted?: boolean;
}

export interface NewAgent {
  readonly name: string;
  readonly version: string;
  readonly osDescription: string;
  readonly systemCapabilities: Readonly<Record<string, string>>;
  readonly userCapabilities?: Readonly<Record<string, string>>;
  /** False keeps an agent disabled that an administrator, or a drain, has disabled. Default true. */
  readonly enabled?: boolean;
  /** Standard base64, big endian. */
  readonly publicKey: { readonly exponent: string; readonly modulus: string };
}

export interface Project {
  readonly name: string;
  /** Pools that the project knows. */
  readonly queues: readonly { readonly id: number; readonly poolId: number }[];
}

/** How many jobs of private projects the organization may run at once on agents of its own. */
export interface ParallelJobs {
  /** Undefined: as many as it likes. */
  readonly permitted: number | undefined;
  /** Running now; undefined: the server did not say. */
  readonly used: number | undefined;
}

export interface AzureClient {
  /** Undefined when no pool has this name (case-insensitive). */
  findPool(name: string): Promise<Pool | undefined>;
  listPools(): Promise<readonly Pool[]>;
  /** Creates it with autoUpdate off; an existing one of that name is returned (eventual consistency and races included). */
  ensurePool(name: string): Promise<{ readonly pool: Pool; readonly created: boolean }>;
  setPoolAutoUpdate(poolId: number, autoUpdate: boolean): Promise<void>;
  listAgents(poolId: number, query?: AgentQuery): Promise<readonly AzureAgent[]>;
  getAgent(poolId: number, agentId: number): Promise<AzureAgent | undefined>;
  findAgent(poolId: number, name: string): Promise<AzureAgent | undefined>;
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
  /** Undefined when there is no such project. Asked through its queues: reading projects would need another scope. */
  findProject(name: string): Promise<Project | undefined>;
  createQueue(project: string, pool: Pool): Promise<{ readonly id: number }>;
  isQueueAuthorized(project: string, queueId: number): Promise<boolean>;
  authorizeQueue(project: string, queueId: number): Promise<void>;
  /** How many jobs the organization may run at once; undefined where no answer says so. */
  parallelJobs(): Promise<ParallelJobs | undefined>;
}
