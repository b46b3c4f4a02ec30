/** The state of the fake server. Plain JSON, so that it survives a restart in one file. */
export interface State {
  nextId: number;
  /** Guid of the organisation: the scope of its pools, the instance by which clients cache addresses. */
  collectionId: string;
  pools: FakePool[];
  /** Agents are pushed, or removed and renamed by agent-index.ts, whose index depends on it. */
  agents: FakeAgent[];
  queues: FakeQueue[];
  projects: FakeProject[];
  /** Ids of changes of projects that were accepted; the latest thousand. */
  operations: string[];
  maintenance: FakeMaintenance;
  /** How many self-hosted jobs may run at once; null: one for each agent. */
  parallelJobs: number | null;
  sessions: FakeSession[];
  requests: FakeRequest[];
  /** Runs of YAML pipelines; a job that was queued alone is not in this list. */
  builds: FakeBuild[];
  /** Access tokens of agents; with a request's id the token of that job, which its worker uses. */
  accessTokens: Record<string, { agentId: number; until: number; requestId?: number }>;
}

export interface FakeProject {
  id: string;
  name: string;
  description?: string;
  visibility: 'private' | 'organization' | 'public';
  revision: number;
  lastUpdateTime: string;
  teamId: string;
  /** The process of its work items, by Guid. */
  processTemplate: string;
}

/** Typed values by name, as the service stores them with pools and agents: `{$type, $value}`. */
export type Properties = Record<string, { $type: string; $value: unknown }>;

export interface FakePool {
  id: number;
  name: string;
  poolType: 'automation' | 'deployment';
  autoUpdate: boolean;
  autoProvision: boolean;
  isHosted: boolean;
  isLegacy: boolean;
  /** Null: the machines are self-hosted. */
  agentCloudId: number | null;
  targetSize: number | null;
  createdOn: string;
  /** Created by the service itself, not by a user. */
  builtIn: boolean;
  properties: Properties;
}

export interface FakeAgent {
  id: number;
  poolId: number;
  name: string;
  version: string;
  osDescription: string;
  enabled: boolean;
  maxParallelism: number;
  provisioningState: string;
  createdOn: string;
  /** When it went online or offline; undefined: it never was online. ISO 8601. */
  statusChangedOn?: string;
  systemCapabilities: Record<string, string>;
  userCapabilities: Record<string, string>;
  properties: Properties;
  clientId: string;
  /** The organisation's URL in the server's answer when the agent was registered. */
  baseUrl: string;
  publicKey?: { exponent: string; modulus: string };
  update?: FakeUpdate;
  /** Its login was withdrawn. */
  revoked: boolean;
}

/** A requested update of an agent, and its reported progress. */
interface FakeUpdate {
  requestedOn: string;
  state: string;
  from: string;
  to: string;
}

export interface FakeQueue {
  id: number;
  project: string;
  poolId: number;
  name: string;
  /** When all pipelines were permitted; undefined: they are not. ISO 8601, like those of single pipelines. */
  openSince?: string;
  pipelines: { id: number; authorizedOn: string }[];
}

interface FakeMaintenance {
  definitions: MaintenanceDefinition[];
  jobs: MaintenanceJob[];
}

export interface MaintenanceDefinition {
  id: number;
  poolId: number;
  enabled: boolean;
  jobTimeoutInMinutes: number;
  maxConcurrentAgentsPercentage: number;
  workingDirectoryExpirationInDays: number;
  numberOfHistoryRecordsToKeep: number;
  schedule: {
    /** One bit a day, Monday first. */
    days: number;
    startHours: number;
    startMinutes: number;
    timeZoneId: string;
    jobId: string;
  };
}

export interface MaintenanceJob {
  id: number;
  poolId: number;
  definitionId: number;
  orchestrationId: string;
  queueTime: string;
  status: 'queued' | 'completed';
  agents: number[];
}

export interface FakeSession {
  id: string;
  agentId: number;
  /** Host name of the machine or container that the agent runs on. */
  ownerName: string;
  /** Milliseconds; a session that is not polled expires. */
  lastSeen: number;
  /** AES key, base64: bodies of messages are encrypted with it. */
  key: string;
  messages: FakeMessage[];
  /** The agent reported that it accepts no more jobs. */
  shuttingDown: boolean;
}

export interface FakeMessage {
  messageId: number;
  messageType: 'PipelineAgentJobRequest' | 'JobCancellation' | 'AgentRefresh';
  body: string;
}

/** The container of a job's steps, from `container:` of a pipeline. */
export interface JobContainer {
  readonly image: string;
  /** More options of `docker create`: `--gpus all`. */
  readonly options?: string;
  /** The image is already on the host: the agent does not pull it. */
  readonly localimage?: boolean;
  readonly mapDockerSocket?: boolean;
}

export type JobResult = 'succeeded' | 'succeededWithIssues' | 'failed' | 'canceled' | 'skipped' | 'abandoned';

/** A record of a timeline: the agent's report of the job or of a step. Members as received, without nulls. */
export type FakeRecord = Record<string, unknown> & { readonly id: string };

export interface FakeTimeline {
  changeId: number;
  records: FakeRecord[];
}

/** An uploaded log. `path` ends with the id of the record that it belongs to. */
export interface FakeLog {
  id: number;
  path: string;
  lineCount: number;
  /** ISO 8601; undefined: saved by an older server. */
  createdOn?: string;
  lastChangedOn?: string;
  /** The end of the log if it is too long to keep. */
  text: string;
}

/** The console's lines, in order, while the job ran. */
interface FakeFeed {
  /** Number of lines of each step: repeated lines after a lost connection are known by their number. */
  seen: Record<string, number>;
  lines: { step: string; text: string }[];
}

interface FakeAttachment {
  timelineId: string;
  recordId: string;
  type: string;
  name: string;
  createdOn: string;
}

/** A check before a stage: the permission of its pool, an approval, or another one by the service's name. */
export type FakeGate = 'Approval' | 'TaskCheck' | 'ExclusiveLock';

/** A run of a YAML pipeline with one stage. */
export interface FakeBuild {
  id: number;
  /** Guid of the project. */
  project: string;
  /** The queue's name, as in the pipeline. */
  pool: string;
  /** Name of the pipeline. */
  title: string;
  definitionId: number;
  queueTime: number;
  stageId: string;
  jobs: { name: string; demands: readonly string[]; script: string }[];
  /** Checks of its stage, in order. */
  gates: { kind: FakeGate | 'Authorization'; id: string; passedAt?: number }[];
  /** Its jobs; none before the last check. */
  requests: number[];
  /** The error that stopped it before its first stage. */
  error?: string;
}

export interface FakeRequest {
  requestId: number;
  poolId: number;
  /** Its build; undefined: the job is a build of its own. */
  buildId?: number;
  jobName: string;
  project: string;
  demands: string[];
  script: string;
  environment: Record<string, string>;
  secrets: Record<string, string>;
  container?: JobContainer;
  planVersion: number;
  jobId: string;
  planId: string;
  /** The job's own timeline; its agent may create more. */
  timelineId: string;
  /** The step that runs the script, and its record in the timeline. */
  stepId: string;
  lockToken: string;
  /** Milliseconds since the epoch, like all times here. */
  queueTime: number;
  assignTime?: number;
  receiveTime?: number;
  lockedUntil?: number;
  finishTime?: number;
  agentId?: number;
  result?: JobResult;
  statusMessage?: string;
  /** Canceled; an agent that lost its session gets the message in the next one. */
  cancelRequested?: boolean;
  /** Above 0 for one that a user moved to the front of the queue. */
  priority?: number;
  timelines: Record<string, FakeTimeline>;
  logs: FakeLog[];
  feed: FakeFeed;
  attachments: FakeAttachment[];
  /** The agents that started it, in order; more than one means that it ran more than once. */
  runs: { agent: string; agentId: number; session: string; container: string; at: number }[];
}
