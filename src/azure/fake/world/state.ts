import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Everything the fake server knows. Plain JSON, so that it survives a restart in one file. */
export interface State {
  nextId: number;
  pools: FakePool[];
  agents: FakeAgent[];
  queues: FakeQueue[];
  projects: { id: string; name: string }[];
  sessions: FakeSession[];
  requests: FakeRequest[];
  /** Access tokens of agents. */
  accessTokens: Record<string, { agentId: number; until: number }>;
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

export interface FakeRequest {
  requestId: number;
  poolId: number;
  jobName: string;
  project: string;
  demands: string[];
  script: string;
  jobId: string;
  planId: string;
  lockToken: string;
  /** Milliseconds since the epoch, like all times here. */
  queueTime: number;
  assignTime?: number;
  receiveTime?: number;
  lockedUntil?: number;
  finishTime?: number;
  agentId?: number;
  result?: 'succeeded' | 'succeededWithIssues' | 'failed' | 'canceled' | 'skipped' | 'abandoned';
  statusMessage?: string;
  log: string;
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

/** Undefined when there is none yet. Sessions get their full time again: the server was away, not the agents. */
export function loadState(file: string, now: number): State | undefined {
  if (!existsSync(file)) return undefined;
  const state = JSON.parse(readFileSync(file, 'utf8')) as State;
  for (const session of state.sessions) session.lastSeen = now;
  return state;
}

export function saveState(file: string, state: State): void {
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
