import type { Clock } from '../../../src/shared/base/clock.ts';
import type { State } from './state.ts';

export type Permission =
  | 'pools.create'
  | 'pools.manage'
  | 'queues.create'
  | 'queues.authorize'
  /** The token's scope Build (Read): builds and their timelines. */
  | 'builds.read'
  /** The token's scope to read which pipelines may use a queue. */
  | 'permissions.read';
/** `read-only`: the scope "Agent Pools (Read)". */
export type TokenState = 'valid' | 'expired' | 'revoked' | 'read-only';

export interface LoggedRequest {
  readonly n: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly status: number;
  readonly caller: 'token' | 'service-principal' | 'agent' | 'anonymous';
  /** For calls about one agent, by id or by name: its name, and whether it had a job when the call arrived. */
  readonly agent?: string;
  readonly agentHasJob?: boolean;
}

/** A call that waits for a message with a higher number than `after`. */
export interface Poll {
  readonly after: number;
  readonly wake: () => void;
}

/** A pipeline that can be run: its one job goes to a pool. */
export interface FakePipeline {
  readonly title: string;
  /** The project's name. */
  readonly project: string;
  readonly poolId: number;
}

/** An application of Microsoft Entra ID with its certificate, or with a federated credential. */
export interface FakeApplication {
  readonly clientId: string;
  readonly tenantId: string;
  /** PEM. */
  readonly certificate?: string;
  readonly federation?: {
    readonly issuer: string;
    readonly subject: string;
    readonly audience: string;
    /** A certificate as PEM, whose key signs the issuer's tokens. */
    readonly certificate: string;
  };
}

/** The machine whose identity this server gives out: an Azure VM, or one that Azure Arc connects; empty: none. */
export interface FakeMachine {
  /** `clientId`: of a user-assigned identity beside the machine's own. */
  readonly vm?: { readonly clientId?: string };
  /** `keys`: the folder in which Azure Arc's agent writes its keys. */
  readonly arc?: { readonly keys: string };
  /** Azure Arc's last key, until it is used. */
  readonly challenge?: { readonly file: string; readonly key: string } | undefined;
}

/** The parts of the running server, passed to each route. */
export interface Fake {
  readonly state: State;
  /** Path of the organisation: `lab`, or `azdo/Engineering` below a virtual folder. */
  readonly organization: string;
  /** The organisation's URL in addresses; undefined: the name that the caller used. */
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
  /** Milliseconds since the epoch: its times, which it keeps over a restart. */
  now(): number;
  /** The accepted personal access tokens and client secrets, read again from their file at each call. */
  tokens(): readonly string[];
  tokenState: TokenState;
  /** Bearer tokens given to service principals: value → end. */
  readonly bearers: Map<string, number>;
  applications: readonly FakeApplication[];
  machine: FakeMachine;
  /** Ids of the assertions that got a token. */
  readonly usedAssertions: Set<string>;
  readonly denied: Set<Permission>;
  /** By number, which is unique over all projects, as in the service. */
  readonly pipelines: Map<number, FakePipeline>;
  readonly faults: { fault: Fault; left: number }[];
  /** Reads show a write this many milliseconds later. */
  settleMs: number;
  /** Lists of agents ignore `demands`, as a server that does not know it. */
  ignoresDemands: boolean;
  /** Job requests that no agent matched are in no list. */
  hidesUnmatched: boolean;
  readonly stale: Map<string, { until: number; before: unknown }>;
  readonly requestLog: LoggedRequest[];
  /** Open long polls by the id of their session, which may have several. */
  readonly polls: Map<string, Set<Poll>>;
  /** Call after every write: assigns jobs, wakes long polls, saves. */
  changed(): void;
}

export function rule(fake: Fake, name: keyof typeof Rules): number {
  return fake.clock.scaled(Rules[name]);
}

export function nextId(fake: Fake): number {
  fake.state.nextId += 1;
  return fake.state.nextId;
}

/** Remembers the state before a write, for reads within the settling time. */
export function beforeWrite(fake: Fake, key: string, before: unknown): void {
  if (fake.settleMs === 0 || fake.stale.has(key)) return;
  fake.stale.set(key, { until: fake.now() + fake.settleMs, before: structuredClone(before) });
}

/** Returns the state for reads: the present one, or the past one while a write settles. */
export function asRead<T>(fake: Fake, key: string, present: T | undefined): T | undefined {
  const past = fake.stale.get(key);
  if (past === undefined) return present;
  if (past.until > fake.now()) return past.before as T | undefined;
  fake.stale.delete(key);
  return present;
}

/** The service's slow rules in milliseconds; a fast clock divides them. Sources: the project's notes on the agent. */
export const Rules = {
  /** How long GET messages waits for one. */
  longPoll: 50_000,
  /** A session ends when it is not polled for this long. */
  sessionExpiry: 5 * 60_000,
  /** An agent renews the lock of its job each minute; the lock lasts ten. */
  lock: 10 * 60_000,
  /** After the lock has expired the job is lost: "We stopped hearing from agent", about 14 minutes after the last renewal. */
  lockGrace: 4 * 60_000,
  accessToken: 60 * 60_000,
  /** A worker logs in once for its whole job. */
  jobToken: 48 * 60 * 60_000,
} as const;

/** How the next calls fail. */
export interface Fault {
  /** How many calls it affects; each of them counts down. */
  readonly count: number;
  /** 203 gives the sign-in page, 302 a redirect to it, 429 and 5xx an error body. Without it the call works. */
  readonly status?: number;
  /** Three digits that are sent as they are, on the raw connection: `999`, `099`; `101` switches to another protocol. */
  readonly rawStatus?: string;
  /** Answered with 503 and the text for an organization that was unused for long. */
  readonly deactivated?: boolean;
  /** Retry-After in seconds, sent with every answer. */
  readonly retryAfterS?: number;
  /** Headers of every answer, in their place: an invalid Retry-After, X-RateLimit-Reset. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The call is executed, and the JSON of its answer ends in the middle. */
  readonly brokenJson?: boolean;
  readonly delayMs?: number;
  /** The connection is closed without an answer: before or after the call is executed. */
  readonly drop?: 'before' | 'after';
  readonly method?: string;
  /** A regular expression on the path. */
  readonly path?: string;
  /** Calls of management clients (the default), of agents, or both. */
  readonly callers?: 'clients' | 'agents' | 'all';
}

/** Returns the first fault that applies to this call, and counts it down. */
export function takeFault(
  faults: { fault: Fault; left: number }[],
  call: { readonly method: string; readonly path: string; readonly agent: boolean },
): Fault | undefined {
  const found = faults.find(({ fault, left }) => left > 0 && applies(fault, call));
  if (found === undefined) return undefined;
  found.left -= 1;
  return found.fault;
}

function applies(fault: Fault, call: { method: string; path: string; agent: boolean }): boolean {
  const callers = fault.callers ?? 'clients';
  return (
    (callers === 'all' || (callers === 'agents') === call.agent) &&
    (fault.method === undefined || fault.method === call.method) &&
    (fault.path === undefined || new RegExp(fault.path, 'u').test(call.path))
  );
}
