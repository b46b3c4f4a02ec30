import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/shared/base/clock.ts';
import type { BeginBuild, FakeJob, FakeOverview, MakeAgents, NewPipeline, QueueJobs } from './types.ts';
import type {
  FakeApplication,
  FakeMachine,
  Fault,
  LoggedRequest,
  Permission,
  TokenState,
} from '../world/fake.ts';

export type { FakeJob, Fault };

/** Controls a running fake server. */
export interface FakeControl {
  overview(): Promise<FakeOverview>;
  queue(jobs: QueueJobs): Promise<readonly FakeJob[]>;
  jobs(): Promise<readonly FakeJob[]>;
  /** Returns all output of a job, each line once, without timestamps. */
  log(job: number): Promise<string>;
  cancel(job: number): Promise<FakeJob>;
  fail(fault: Fault): Promise<void>;
  clearFaults(): Promise<void>;
  setToken(state: TokenState): Promise<void>;
  /** The applications of Microsoft Entra ID that may log in with an assertion. */
  setApplications(applications: readonly FakeApplication[]): Promise<void>;
  /** Makes the server an Azure VM's metadata service, or Azure Arc's agent; `{}`: neither. */
  setMachine(machine: Pick<FakeMachine, 'vm' | 'arc'>): Promise<void>;
  /** Refuses these projects with 403; an empty list permits all again. */
  deny(permissions: readonly Permission[]): Promise<void>;
  /** Reads show writes this many milliseconds later. */
  settle(ms: number): Promise<void>;
  /** Begins a run of a YAML pipeline; returns its number. */
  begin(build: BeginBuild): Promise<number>;
  /** Fulfils the open check of a run. */
  approve(build: number): Promise<void>;
  /** Whether job requests that no agent matched are listed. */
  listUnmatched(isSo: boolean): Promise<void>;
  /** Whether `demands` is read where agents are listed. */
  readDemands(isSo: boolean): Promise<void>;
  /** Sets the number of self-hosted jobs that may run at once; null: one for each agent. */
  limitJobs(parallelJobs: number | null): Promise<void>;
  /** Creates a pipeline whose one job goes to a pool. */
  addPipeline(pipeline: NewPipeline): Promise<void>;
  /** Registers agents without a process. */
  makeAgents(agents: MakeAgents): Promise<void>;
  /** Withdraws an agent's login, as a user who deletes it in the browser does. */
  revokeAgent(name: string): Promise<void>;
  endSession(agent: string): Promise<void>;
  /** Gives an agent this many system capabilities more, about 14 bytes each. */
  publishCapabilities(agent: string, count: number): Promise<void>;
  requests(after?: number): Promise<readonly LoggedRequest[]>;
  /** Polls until the condition holds; throws with the last answer if it does not in time. */
  until(
    condition: (jobs: readonly FakeJob[], overview: FakeOverview) => boolean,
    options: { readonly timeoutMs: number; readonly everyMs?: number },
  ): Promise<readonly FakeJob[]>;
}

/** `origin` without the organisation: `http://127.0.0.1:8088`. */
export function fakeControl(origin: string): FakeControl {
  const ask = async (method: string, path: string, body?: unknown): Promise<string> => {
    const response = await fetch(`${origin}/_fake${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /_fake${path}: ${response.status} ${text}`);
    return text;
  };
  const send = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const text = await ask(method, path, body);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const agent = (name: string) => `/agents/${encodeURIComponent(name)}`;
  // The caller keeps real time.
  const clock = systemClock(1);
  const control: FakeControl = {
    overview: () => send('GET', '/'),
    queue: (jobs) => send('POST', '/jobs', jobs),
    jobs: () => send('GET', '/jobs'),
    log: (job) => ask('GET', `/jobs/${job}/log`),
    cancel: (job) => send('POST', `/jobs/${job}/cancel`),
    fail: (fault) => send('POST', '/faults', fault),
    clearFaults: () => send('DELETE', '/faults'),
    setToken: (state) => send('PUT', '/token', { state }),
    setApplications: (applications) => send('PUT', '/applications', { applications }),
    setMachine: (machine) => send('PUT', '/machine', machine),
    deny: (permissions) => send('PUT', '/denied', { permissions }),
    settle: (ms) => send('PUT', '/settle', { ms }),
    begin: async (build) => (await send<{ readonly id: number }>('POST', '/builds', build)).id,
    approve: (build) => send('POST', `/builds/${build}/approve`),
    listUnmatched: (unmatched) => send('PUT', '/filters', { unmatched }),
    readDemands: (demands) => send('PUT', '/filters', { demands }),
    limitJobs: (parallelJobs) => send('PUT', '/limits', { parallelJobs }),
    addPipeline: (pipeline) => send('POST', '/pipelines', pipeline),
    makeAgents: (agents) => send('POST', '/agents', agents),
    revokeAgent: (name) => send('POST', `${agent(name)}/revoke`),
    endSession: (name) => send('POST', `${agent(name)}/end-session`),
    publishCapabilities: (name, count) => send('POST', `${agent(name)}/capabilities`, { count }),
    requests: (after = 0) => send('GET', `/requests?after=${after}`),
    until: async (condition, { timeoutMs, everyMs = 100 }) => {
      const deadline = clock.monotonic() + timeoutMs;
      for (;;) {
        const [jobs, overview] = await Promise.all([control.jobs(), control.overview()]);
        if (condition(jobs, overview)) return jobs;
        if (clock.monotonic() > deadline) {
          throw new Error(
            `not within ${timeoutMs} ms; the server shows ${JSON.stringify({ overview, jobs })}`,
          );
        }
        await delay(everyMs);
      }
    },
  };
  return control;
}
