import type { Clock } from '../../../src/shared/base/clock.ts';
import type { State } from './state.ts';

export type Permission = 'pools.create' | 'pools.manage' | 'queues.create' | 'queues.authorize';
export type TokenState = 'valid' | 'expired' | 'revoked';

export interface LoggedRequest {
  readonly n: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly status: number;
  readonly caller: 'token' | 'service-principal' | 'agent' | 'anonymous';
  /** For calls about one agent, by id or by name: its name, and whether a job was assigned to it when the call came. */
  readonly agent?: string;
  readonly agentHasJob?: boolean;
}

/** A call that waits for a message with a higher number than `after`. */
export interface Poll {
  readonly after: number;
  readonly wake: () => void;
}

/** One that can be run: its one job goes to a pool. */
export interface FakePipeline {
  readonly title: string;
  /** The project's name. */
  readonly project: string;
  readonly poolId: number;
}

/** The running server's parts, handed to each route. */
export interface Fake {
  readonly state: State;
  /** Path of the organisation: `lab`, or `azdo/Engineering` below a virtual folder. */
  readonly organization: string;
  /** The organisation's URL that the server calls itself by; undefined: by the name that the caller used. */
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
  /** Milliseconds since the epoch: its times, which it keeps over a restart. */
  now(): number;
  /** The accepted personal access tokens and client secrets, read again from their file at each call. */
  tokens(): readonly string[];
  tokenState: TokenState;
  /** Bearer tokens given to service principals: value → end. */
  readonly bearers: Map<string, number>;
  readonly denied: Set<Permission>;
  /** By number, which is one over all projects, as the service has it. */
  readonly pipelines: Map<number, FakePipeline>;
  readonly faults: { fault: Fault; left: number }[];
  /** Reads see a write this many milliseconds later. */
  settleMs: number;
  /** Lists of agents leave `demands` unread, as a server would that does not know it. */
  ignoresDemands: boolean;
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

/** Remembers how something looked before a write, for reads within the settling time. */
export function beforeWrite(fake: Fake, key: string, before: unknown): void {
  if (fake.settleMs === 0 || fake.stale.has(key)) return;
  fake.stale.set(key, { until: fake.now() + fake.settleMs, before: structuredClone(before) });
}

/** What a read shows of something: its present, or its past while that settles. */
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
  /** After the lock has run out the job is given up: "We stopped hearing from agent", about 14 minutes after the last sign. */
  lockGrace: 4 * 60_000,
  accessToken: 60 * 60_000,
  /** A worker logs in once for its whole job. */
  jobToken: 48 * 60 * 60_000,
} as const;

/** How the next calls fail. */
export interface Fault {
  /** How many calls it hits; each hit counts down. */
  readonly count: number;
  /** 203 gives the sign-in page, 302 a redirect to it, 429 and 5xx an error body. Without it the call works. */
  readonly status?: number;
  /** Answered with 503 and the words for an organization that was unused for long. */
  readonly deactivated?: boolean;
  /** Seconds, sent with whatever the answer is. */
  readonly retryAfterS?: number;
  readonly delayMs?: number;
  /** The connection is closed without an answer: before the call is carried out, or after it. */
  readonly drop?: 'before' | 'after';
  readonly method?: string;
  /** A regular expression on the path. */
  readonly path?: string;
  /** Calls of management clients (the default), of agents, or both. */
  readonly callers?: 'clients' | 'agents' | 'all';
}

/** The first fault that applies to this call, counted down. */
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
