import type { ObservedContainer } from '../model.ts';
import { longestLine } from '../../shared/engine/frames.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';

/** The state of one agent, from its output so far. */
export interface Transcript {
  readonly phase: Exclude<ObservedContainer['phase'], 'unknown'>;
  readonly job?: string;
  readonly result?: string;
  /** Start and end of the job, by the console's timestamps; ISO 8601. */
  readonly beganAt?: string;
  readonly endedAt?: string;
  /** Open faults, at most one of a kind, the latest last. */
  readonly remarks: readonly Remark[];
  /** The agent was asked to exit. */
  readonly leaving: boolean;
  /** One of the agent's lines has been recognized. */
  readonly known: boolean;
  /** The first unknown line. `stamped`: it has the timestamp of the agent's own lines. */
  readonly unknownLine?: { readonly words: string; readonly stamped: boolean };
}

export const emptyTranscript: Transcript = { phase: 'connecting', remarks: [], leaving: false, known: false };

/** Adds a line of the agent's output. Returns the same object if nothing changes. */
export function read(transcript: Transcript, line: string): Transcript {
  const event = readLine(line);
  if (event.kind === 'unknown') return withUnknownLine(transcript, event);
  const next = take(transcript, event);
  return next.known ? next : { ...next, known: true };
}

function take(transcript: Transcript, event: Exclude<ConsoleEvent, { kind: 'unknown' }>): Transcript {
  switch (event.kind) {
    case 'connecting':
      // Printed again when the session was lost; a new session is created without further output.
      return transcript;
    case 'listening':
      return transcript.phase === 'connecting'
        ? { ...transcript, phase: 'listening', remarks: [] }
        : transcript;
    case 'reconnected':
      return transcript.remarks.length === 0 ? transcript : { ...transcript, remarks: [] };
    case 'running':
      return { ...transcript, phase: 'running', job: event.job, beganAt: event.at };
    case 'completed':
      return { ...transcript, phase: 'done', job: event.job, result: event.result, endedAt: event.at };
    case 'leaving':
      return transcript.leaving ? transcript : { ...transcript, leaving: true };
    case 'remark':
      return withRemark(transcript, event.remark);
    default:
      throw new Error(`unhandled event ${JSON.stringify(event satisfies never)}`);
  }
}

function withRemark(transcript: Transcript, remark: Remark): Transcript {
  const last = transcript.remarks.at(-1);
  if (last?.kind === remark.kind && (last.words !== '' || remark.words === '')) return transcript;
  const others = transcript.remarks.filter(({ kind }) => kind !== remark.kind);
  return { ...transcript, remarks: [...others, remark] };
}

/** Keeps the first unknown line with the agent's timestamp, else the first unknown line. */
function withUnknownLine(
  transcript: Transcript,
  { words, stamped }: { readonly words: string; readonly stamped: boolean },
): Transcript {
  if (words === '') return transcript;
  const { unknownLine } = transcript;
  if (unknownLine !== undefined && (unknownLine.stamped || !stamped)) return transcript;
  return { ...transcript, unknownLine: { words, stamped } };
}

export function readAll(text: string): Transcript {
  return text.split('\n').reduce(read, emptyTranscript);
}

/** Returns the latest remark with a reason, else the latest. */
export function mainRemark({ remarks }: Pick<Transcript, 'remarks'>): Remark | undefined {
  return remarks.findLast(({ kind }) => kind !== 'failed' && kind !== 'updating') ?? remarks.at(-1);
}

/**
 * Why an agent does not work, from its console. `failed`: an unknown message. `aborted`: the .NET runtime aborted before the
 * agent's code ran.
 */
export type RemarkKind =
  | 'session-conflict'
  | 'session-lost'
  | 'agent-deleted'
  | 'login'
  | 'clock'
  | 'network'
  | 'not-configured'
  | 'updating'
  | 'sees-no-gpu'
  | 'aborted'
  | 'failed';

export interface Remark {
  readonly kind: RemarkKind;
  /** The message of the server or of .NET, cleaned and cut; empty: none. */
  readonly words: string;
}

/** An event on one line of the console. Times are the console's timestamps: ISO 8601, whole seconds. */
export type ConsoleEvent =
  /** The agent begins to connect; again when it needs a new session. */
  | { readonly kind: 'connecting' }
  | { readonly kind: 'listening' }
  | { readonly kind: 'reconnected' }
  | { readonly kind: 'running'; readonly job: string; readonly at: string }
  | { readonly kind: 'completed'; readonly job: string; readonly result: string; readonly at: string }
  /** The agent was asked to exit (SIGINT). */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'remark'; readonly remark: Remark }
  /** An unknown line. `stamped`: it has the timestamp of the agent's own lines. */
  | { readonly kind: 'unknown'; readonly words: string; readonly stamped: boolean };

const longestWords = 300;

/**
 * Parses a line of the agent in the C locale, or of the .NET runtime where the agent cannot print. v4 (4.275) and v5
 * (5.278) have the same texts: their strings.json differ in none of these.
 */
export function readLine(whole: string): ConsoleEvent {
  // Cut before any pattern is matched: a job may print lines of any length.
  const line = whole.slice(0, longestLine);
  if (/^(?:Scanning for tool capabilities|Connecting to the server)\.$/.test(line))
    return { kind: 'connecting' };
  if (line === 'Exiting...') return { kind: 'leaving' };
  const [, day, time, message] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\dZ): (.*)$/s.exec(line) ?? [];
  if (day !== undefined && time !== undefined && message !== undefined)
    return stamped(`${day}T${time}`, message) ?? unknown(line, true);
  return plain(line) ?? unknown(line, false);
}

function stamped(at: string, message: string): ConsoleEvent | undefined {
  if (message === 'Listening for Jobs') return { kind: 'listening' };
  if (message === 'Agent reconnected.') return { kind: 'reconnected' };
  const [, begun] = /^Running job: (.+)$/s.exec(message) ?? [];
  if (begun !== undefined) return { kind: 'running', job: name(begun), at };
  const [, job, result] = /^Job (.+) completed with result: (\w+)$/s.exec(message) ?? [];
  if (job !== undefined && result !== undefined)
    return { kind: 'completed', job: name(job), result: result.toLowerCase(), at };
  const [, problem] =
    /^Agent connect error: (.*?)\.?(?: Retrying until reconnected\.)?$/s.exec(message) ?? [];
  return problem === undefined ? undefined : connectRemark(problem);
}

function plain(line: string): ConsoleEvent | undefined {
  const [, problem] = /^(?:An error occurred:|Failed to create session\.) (.*)$/s.exec(line) ?? [];
  if (problem !== undefined) return connectRemark(problem);
  if (pointer.test(line)) return unknown('', false);
  const found = ownLines.find(([pattern]) => pattern.test(line));
  if (found === undefined) return undefined;
  const [, kind] = found;
  return { kind: 'remark', remark: { kind, words: kind === 'aborted' ? cut(line) : '' } };
}

/** Matches two lines that refer to the agent's own log. */
const pointer = /^\w+ reported in diagnostic logs\. |^ {4}- /;

/** Patterns of lines, with their kinds of remark. */
const ownLines: readonly (readonly [RegExp, RemarkKind])[] = [
  [/^A session for this agent already exists\.|^Stop retry on SessionConflictException /, 'session-conflict'],
  [/^The agent no longer exists on the server\./, 'agent-deleted'],
  [/^The local machine's clock may be out of sync|^Stopped retrying OAuth token request exception /, 'clock'],
  [/^Agent is not configured\.|^azp-fleet: \S+ is missing/, 'not-configured'],
  [/^Agent update in progress, |^Downloading \S+ agent$|^Agent will exit shortly for update, /, 'updating'],
  [/^(?:Process terminated\.|Unhandled exception\.|Fatal error\.) /, 'aborted'],
  [/Failed to initialize NVML|No devices were found/, 'sees-no-gpu'],
];

/** Patterns of messages of the server and of .NET inside the agent's lines; the first match counts. */
const serverMessages: readonly (readonly [RegExp, RemarkKind])[] = [
  [/already has an active session/, 'session-conflict'],
  [/session has expired/i, 'session-lost'],
  [/Current server time is/, 'clock'],
  [/^Not configured$/, 'not-configured'],
  [
    /No agent found with identifier|agent .*(?:was not found|does not exist|no longer exists)/i,
    'agent-deleted',
  ],
  [
    /client is not registered|invalid_client|Registration .*was not found|not authorized|Unauthorized|Access denied|signature|VS30063|TF400813|access token|status code\D*40[13]/i,
    'login',
  ],
  [
    /Connection (?:refused|reset|timed out)|No route to host|(?:Network|Host) is (?:unreachable|down)|Name or service not known|name resolution|No such host|Resource temporarily unavailable|SSL connection|certificate|proxy|timed? ?out|sending the request|response ended|status code\D*(?:407|429|5\d\d)/i,
    'network',
  ],
];

function connectRemark(problem: string): ConsoleEvent {
  const words = cut(problem);
  const kind = serverMessages.find(([pattern]) => pattern.test(words))?.[1] ?? 'failed';
  return { kind: 'remark', remark: { kind, words } };
}

function unknown(line: string, isStamped: boolean): ConsoleEvent {
  return { kind: 'unknown', words: cut(line), stamped: isStamped };
}

function cut(words: string): string {
  return foreignLine(words, longestWords).trim();
}

function name(job: string): string {
  return foreignLine(job).trim();
}
