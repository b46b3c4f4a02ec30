/** Everything the fake server knows. Plain JSON, so that it survives a restart in one file. */
export interface State {
  nextId: number;
  /** Guid of the organisation: the instance that clients cache addresses by. */
  collectionId: string;
  pools: FakePool[];
  agents: FakeAgent[];
  queues: FakeQueue[];
  projects: { id: string; name: string }[];
  sessions: FakeSession[];
  requests: FakeRequest[];
  /** Access tokens of agents; with a request's id the token of that job, which its worker calls with. */
  accessTokens: Record<string, { agentId: number; until: number; requestId?: number }>;
}

export interface FakePool {
  id: number;
  name: string;
  autoUpdate: boolean;
  autoProvision: boolean;
  isHosted: boolean;
  createdOn: string;
}

export interface FakeAgent {
  id: number;
  poolId: number;
  name: string;
  version: string;
  osDescription: string;
  enabled: boolean;
  createdOn: string;
  systemCapabilities: Record<string, string>;
  userCapabilities: Record<string, string>;
  clientId: string;
  /** The organisation's URL as the server called itself when the agent was registered. */
  baseUrl: string;
  publicKey?: { exponent: string; modulus: string };
  updateRequested: boolean;
  /** Its login was withdrawn. */
  revoked: boolean;
}

export interface FakeQueue {
  id: number;
  project: string;
  poolId: number;
  name: string;
  authorized: boolean;
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
  /** The agent said that it takes no more jobs. */
  shuttingDown: boolean;
}

export interface FakeMessage {
  messageId: number;
  messageType: 'PipelineAgentJobRequest' | 'JobCancellation' | 'AgentRefresh';
  body: string;
}

/** The container that a job's steps run in, as a pipeline's `container:` names it. */
export interface JobContainer {
  readonly image: string;
  /** More options of `docker create`: `--gpus all`. */
  readonly options?: string;
  /** The image is on the host already: the agent does not pull it. */
  readonly localimage?: boolean;
  readonly mapDockerSocket?: boolean;
}

const results = ['succeeded', 'succeededWithIssues', 'failed', 'canceled', 'skipped', 'abandoned'] as const;
export type JobResult = (typeof results)[number];

export function isResult(value: unknown): value is JobResult {
  return results.some((result) => result === value);
}

/** A record of a timeline: what the agent said of the job, of a step. Members as they came, without nulls. */
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
  /** Its end, when it is too long to keep. */
  text: string;
}

/** What the console was shown, line by line, while the job ran. */
interface FakeFeed {
  /** Lines that came of each step: what is sent again after a cut is known by its number. */
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

export interface FakeRequest {
  requestId: number;
  poolId: number;
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
  /** The job's own timeline; its agent may make more. */
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
  /** Somebody cancelled it; an agent that lost its session is told with the next one. */
  cancelRequested?: boolean;
  timelines: Record<string, FakeTimeline>;
  logs: FakeLog[];
  feed: FakeFeed;
  attachments: FakeAttachment[];
  /** Who started it, in order; more than one means that it ran more than once. */
  runs: { agent: string; agentId: number; session: string; container: string; at: number }[];
}

export function emptyState(projects: readonly string[], now: number): State {
  const pool = (id: number, name: string, isHosted: boolean): FakePool => ({
    id,
    name,
    isHosted,
    autoUpdate: true,
    autoProvision: true,
    createdOn: new Date(now).toISOString(),
  });
  return {
    nextId: 10,
    collectionId: crypto.randomUUID(),
    // What every organisation starts with.
    pools: [pool(1, 'Default', false), pool(2, 'Azure Pipelines', true)],
    agents: [],
    queues: [],
    projects: projects.map((name) => ({ id: crypto.randomUUID(), name })),
    sessions: [],
    requests: [],
    accessTokens: {},
  };
}
