import { randomUUID } from 'node:crypto';
import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';

/** One call to a route. */
export interface FakeCall {
  readonly fake: Fake;
  readonly method: string;
  /** The path below the organisation. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly text: string;
  /** The parsed JSON body, an empty object without one. */
  readonly body: Record<string, unknown>;
  /** The organisation's URL in the server's addresses: the beginning of addresses in answers. */
  readonly baseUrl: string;
  /** The agent that calls with its own access token; undefined: a management client. */
  readonly agentId: number | undefined;
  /** The request of the job whose token the caller uses: a worker, for its agent. */
  readonly requestId?: number | undefined;
  /** The Accept header. */
  readonly accept: string;
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly json?: unknown;
  /** Instead of `json`: a list, sent piece by piece as `{"count": N, "value": […]}`. */
  readonly items?: { readonly count: number; readonly value: Iterable<unknown> };
  readonly html?: string;
  /** Other content than JSON and pages. */
  readonly content?: { readonly type: string; readonly bytes: Buffer | string };
  readonly headers?: Readonly<Record<string, string>>;
  /** The version of the interface of the answer. */
  readonly apiVersion?: string;
}

type Handler = (call: FakeCall, ...parts: string[]) => Reply | Promise<Reply>;
/** Method, pattern of the whole path below the organisation (its groups become arguments), handler. */
export type Route = readonly [method: string, pattern: RegExp, handler: Handler];

export const ok = (json: unknown): Reply => ({ status: 200, json });
export const list = (value: readonly unknown[]): Reply => ok({ count: value.length, value });
export const empty: Reply = { status: 204 };

/** Returns a member of a body, empty if it is not text. */
export function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

/** Returns an error as the service words it: `typeName` names the exception of .NET clients. */
export function refusal(
  status: number,
  typeKey: string,
  message: string,
  namespace = 'Microsoft.TeamFoundation.DistributedTask.WebApi',
): Reply {
  return {
    status,
    // Recorded; agents show this text if they show no body.
    headers: { 'x-tfs-serviceerror': encodeURIComponent(message.toWellFormed()) },
    json: {
      $id: '1',
      innerException: null,
      message,
      typeName: `${namespace}.${typeKey}, ${namespace}`,
      typeKey,
      errorCode: 0,
      eventId: 3000,
    },
  };
}

export function accessDenied(what: string): Reply {
  return refusal(403, 'AccessDeniedException', `Access denied. ${admin.displayName} needs ${what}.`);
}

export const signInPage: Reply = {
  status: 203,
  html: '<!DOCTYPE html><html><head><title>Azure DevOps Services | Sign In</title></head><body></body></html>',
};

export const signInRedirect: Reply = { status: 302, headers: { location: '/_signin' }, html: '' };

/** The headers of every answer of the service. */
export function serviceHeaders(contentType: string): Record<string, string> {
  const id = randomUUID();
  return {
    'content-type': contentType,
    'cache-control': 'no-cache',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'x-content-type-options': 'nosniff',
    activityid: id,
    'x-tfs-session': id,
    'x-vss-e2eid': id,
    'x-vss-userdata': `${admin.id}:${admin.uniqueName}`,
  };
}
