import type { JobResult } from '../world/state.ts';
import type { FakeCall, Reply } from './reply.ts';

/** Returns a parameter of a query. The service ignores the case of names, and ignores empty ones. */
export function parameter(query: URLSearchParams, name: string): string | undefined {
  const desired = name.toLowerCase();
  for (const [key, value] of query) {
    if (key.toLowerCase() === desired) return value === '' ? undefined : value;
  }
  return undefined;
}

/** Parses a boolean in any case: .NET writes `True`. */
export function flag(query: URLSearchParams, name: string): boolean {
  return parameter(query, name)?.toLowerCase() === 'true';
}

/** Parses `a,b` as both; undefined without the parameter. */
export function namesOf(query: URLSearchParams, name: string): readonly string[] | undefined {
  return parameter(query, name)
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

export function idsOf(query: URLSearchParams, name: string): ReadonlySet<number> | undefined {
  const names = namesOf(query, name);
  return names === undefined ? undefined : new Set(names.map(Number));
}

/** Names of an enumeration with the numbers that some clients send instead. */
export type Names<T extends string> = Readonly<Record<T, number>>;

export const poolTypes: Names<'automation' | 'deployment'> = { automation: 1, deployment: 2 };
export const actionFilters: Names<'none' | 'manage' | 'use'> = { none: 0, manage: 2, use: 16 };
export const visibilities: Names<'unchanged' | 'private' | 'organization' | 'public'> = {
  unchanged: -1,
  private: 0,
  organization: 1,
  public: 2,
};
export const results: Names<JobResult> = {
  succeeded: 0,
  succeededWithIssues: 1,
  failed: 2,
  canceled: 3,
  skipped: 4,
  abandoned: 5,
};

/** Parses a name in any case, or its number as number or text; undefined: an unknown one. */
export function nameIn<T extends string>(names: Names<T>, value: unknown): T | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const desired = String(value).toLowerCase();
  return (Object.keys(names) as T[]).find(
    (name) => name.toLowerCase() === desired || String(names[name]) === desired,
  );
}

// Errors about arguments are .NET's own text, with the argument's name on a second line. Which argument is
// refused is read from a build of the server; the exact text of the longer messages is not verified.

function argument(typeKey: string, message: string, parameter: string): Reply {
  return {
    status: 400,
    json: {
      $id: '1',
      innerException: null,
      message: `${message}\r\nParameter name: ${parameter}`,
      typeName: `System.${typeKey}, mscorlib`,
      typeKey,
      errorCode: 0,
      eventId: 0,
    },
  };
}

export const missingArgument = (parameter: string): Reply =>
  argument('ArgumentNullException', 'Value cannot be null.', parameter);

export const invalidArgument = (message: string, parameter: string): Reply =>
  argument('ArgumentException', message, parameter);

/** The error for a query or a body that cannot be parsed. */
export const badRequest: Reply = {
  status: 400,
  json: { count: 1, value: { Message: 'The request is invalid.' } },
};

/** No control characters, no half characters, and no character that file names forbid (read from the server's check). */
const illegal = /[\p{Cc}\p{Cs}"*/:<>?\\|]/u;

export function isGuid(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(text);
}

export interface NameRule {
  /** The name in messages: `agent.Name`. */
  readonly parameter: string;
  /** Agent, pool or queue. */
  readonly what: string;
  readonly longest: number;
}

/** Returns undefined for a valid name. `given` is the member of the body. */
export function nameRefusal(given: unknown, { parameter, what, longest }: NameRule): Reply | undefined {
  if (given === undefined || given === null) return missingArgument(parameter);
  const name = typeof given === 'string' ? given.trim() : '';
  if (name === '') return invalidArgument('The string must have at least one character.', parameter);
  if (name.length <= longest && !illegal.test(name)) return undefined;
  return invalidArgument(
    `${what} name ${name.slice(0, 200)} is not valid: at most ${longest} characters, and none of " * / : < > ? \\ |.`,
    parameter,
  );
}

/** Resources whose writes need only path and query; Microsoft's client for Node sends `null` with them. */
const bodiless = new Set(['messages', 'updates', 'timelines']);

/** Returns undefined for a valid body. An upload may be anything; all else is one JSON object or list. */
export function bodyRefusal({ method, path, text }: FakeCall, resource: string): Reply | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined;
  const uploads = resource === 'attachments' || (resource === 'logs' && !/\/logs\/?$/iu.test(path));
  if (uploads) return undefined;
  if (['', 'null'].includes(text.trim()))
    return bodiless.has(resource.toLowerCase()) ? undefined : missingArgument('body');
  return isObject(text) ? undefined : badRequest;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

const truths = [
  'includeCapabilities',
  'includeAssignedRequest',
  'includeLastCompletedRequest',
  'includeRunningRequests',
  'includeRecords',
  'authorizePipelines',
  'poolIsHosted',
];
const ids = ['poolId', 'poolIds', 'queueIds', 'agentId', 'agentIds'];
const counts = ['$top', '$skip'];

/** Returns undefined if the booleans and numbers of a query are valid, for every resource. */
export function queryRefusal(query: URLSearchParams): Reply | undefined {
  const wrong =
    truths.some((name) => !/^(?:true|false)$/iu.test(parameter(query, name) ?? 'true')) ||
    ids.some((name) => !(namesOf(query, name) ?? []).every((id) => /^-?\d+$/u.test(id))) ||
    counts.some((name) => !/^\d+$/u.test(parameter(query, name) ?? '0'));
  return wrong ? badRequest : undefined;
}
