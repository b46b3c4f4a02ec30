import { randomUUID } from 'node:crypto';
import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';

/** One call as a route sees it. */
export interface FakeCall {
  readonly fake: Fake;
  readonly method: string;
  /** Below the organisation. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly text: string;
  /** The parsed JSON body, an empty object without one. */
  readonly body: Record<string, unknown>;
  /** The organisation's URL as the server calls itself: what addresses in answers begin with. */
  readonly baseUrl: string;
  /** The agent that calls with its own access token; undefined: a management client. */
  readonly agentId: number | undefined;
  /** The request of the job whose token the caller has: a worker calls, for its agent. */
  readonly requestId?: number | undefined;
  /** The Accept header. */
  readonly accept: string;
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly json?: unknown;
  /** In place of `json`: a list, written piece by piece as `{"count": N, "value": […]}`. */
  readonly items?: { readonly count: number; readonly value: Iterable<unknown> };
  readonly html?: string;
  /** Neither JSON nor a page. */
  readonly content?: { readonly type: string; readonly bytes: Buffer | string };
  readonly headers?: Readonly<Record<string, string>>;
  /** The version of the interface that it is given in. */
  readonly apiVersion?: string;
}

type Handler = (call: FakeCall, ...parts: string[]) => Reply | Promise<Reply>;
/** Method, pattern of the whole path below the organisation (its groups become arguments), handler. */
export type Route = readonly [method: string, pattern: RegExp, handler: Handler];

export const ok = (json: unknown): Reply => ({ status: 200, json });
export const list = (value: readonly unknown[]): Reply => ok({ count: value.length, value });
export const empty: Reply = { status: 204 };

/** A member of a body, empty when it is not text. */
export function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

/** An error as the service words it: `typeName` is what .NET clients make their exception of. */
export function refusal(
  status: number,
  typeKey: string,
  message: string,
  namespace = 'Microsoft.TeamFoundation.DistributedTask.WebApi',
): Reply {
  return {
    status,
    // Recorded; agents show it where they show no body.
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

/** The headers that the service puts on everything. */
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
