import type { ErrorCode } from '../../base/codes/code.ts';
import { FleetError, type Problem } from '../../base/errors.ts';
import { longestLimitedMs } from './limits.ts';
import { type AnswerHeaders, OddStatus } from './proxy.ts';

/** One complete answer of the server. */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Undefined when the body is not JSON. */
  readonly json: unknown;
  /** Whether the body was empty. */
  readonly empty: boolean;
}

/** The caller's operation: `what` completes "cannot …", `permission` is the next action when it is not allowed. */
export interface Operation {
  readonly what: string;
  readonly permission: string;
}

/** An error answer. `typeKey` and `status` let the client decide; users see the problem. */
export class AzureError extends FleetError {
  readonly typeKey: string | undefined;
  readonly status: number | undefined;

  constructor(problem: Problem, details: { typeKey?: string; status?: number; cause?: unknown } = {}) {
    super(problem, details.cause === undefined ? {} : { cause: details.cause });
    this.typeKey = details.typeKey;
    this.status = details.status;
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof FleetError && error.problem.code === code;
}

const patScope = 'scope "Agent Pools (Read & manage)"';

/** Returns the error in an answer; undefined for a success. A sign-in page is an error in every form: 203, a redirect, HTML with 200. */
export function failureOf(
  answer: Answer,
  operation: Operation,
  organization: string,
): AzureError | undefined {
  const { status } = answer;
  const elsewhere = sentElsewhere(answer, organization);
  if (elsewhere !== undefined)
    return interposed(`HTTP ${status} to ${elsewhere}`, operation, organization, { status });
  if (status === networkLogin) return interposed(`HTTP ${status}`, operation, organization, { status });
  const at = { ...answer, organization };
  if (isSignIn(answer)) return authFailure('Azure DevOps answered with its sign-in page', at, operation);
  if (status >= 200 && status < 300) return undefined;
  const { message, typeKey } = errorBody(answer.json);
  if (status === 401) return authFailure(message ?? 'HTTP 401', at, operation);
  if (message !== undefined && stopped.test(message))
    return deactivated(message, status, operation, organization);
  const kind = kindOf(typeKey, status);
  return new AzureError(
    {
      code: kind.code,
      what: `cannot ${operation.what}`,
      seen: message ?? `HTTP ${status} from ${organization}`,
      next: kind.next ?? operation.permission,
    },
    { status, ...(typeKey === undefined ? {} : { typeKey }) },
  );
}

function isSignIn({ status, headers, json, empty }: Answer): boolean {
  if (status === 203 || (status >= 300 && status < 400)) return true;
  if (status < 200 || status >= 300 || json !== undefined) return false;
  return !empty && headers.has('content-type');
}

/** Network Authentication Required (RFC 6585). */
const networkLogin = 511;

/** Matches the sign-in addresses of Azure DevOps. */
const ownSignIn = /(?:^|\.)(?:visualstudio\.com|azure\.com|microsoftonline\.com|microsoft\.com|live\.com)$/u;

/** Returns the address of a redirect that neither the server nor Microsoft sends. */
function sentElsewhere({ status, headers }: Answer, organization: string): string | undefined {
  const location = headers.get('location');
  if (status < 300 || status >= 400 || location === null || !URL.canParse(location, organization))
    return undefined;
  const { hostname, origin } = new URL(location, organization);
  const own = hostname === new URL(organization).hostname || ownSignIn.test(hostname);
  return own ? undefined : origin;
}

/** Returns the error for a captive portal or an unconfigured proxy. */
function interposed(
  seen: string,
  operation: Operation,
  organization: string,
  details: ConstructorParameters<typeof AzureError>[1],
): AzureError {
  return new AzureError(
    {
      code: 'azure.unexpected',
      what: `cannot ${operation.what}: something in between answers for ${organization}`,
      expected: 'an answer of Azure DevOps',
      seen,
      next: 'log in to this network in a browser, or name its proxy in the inventory: "proxy:"',
    },
    details,
  );
}

/** TF24668 with status 503, recorded from the live service in April 2026: the organization was unused for long. */
const stopped = /^TF24668\b/u;

function deactivated(seen: string, status: number, operation: Operation, organization: string): AzureError {
  return new AzureError(
    {
      code: 'azure.deactivated',
      what: `cannot ${operation.what}: the organization is deactivated`,
      expected: 'an organization that is in use',
      seen,
      next: `sign in to ${organization} in a browser as its owner and activate it again (aka.ms/adofootprintreduction), then run it again`,
    },
    { status },
  );
}

/** The server requests a pause that is too long to wait for. */
export function pauseTooLong(ms: number, operation: Operation): AzureError {
  const minutes = Math.ceil(ms / 60_000);
  const wait = Math.ceil(Math.min(ms, longestLimitedMs) / 60_000);
  return new AzureError({
    code: 'azure.throttled',
    what: `cannot ${operation.what}: Azure DevOps asks for a pause of ${minutes} minutes`,
    seen: `Retry-After: ${Math.ceil(ms / 1000)} s`,
    next: `run it again in ${wait} minutes: all hosts that share one token share its limit; spread them over several tokens`,
  });
}

/** The answer exceeds a limit and could exhaust the memory. `excess`: `more than 6 MiB`; `isOneAgent`: it is about one agent. */
export function tooLong(excess: string, operation: Operation, isOneAgent: boolean): AzureError {
  return new AzureError({
    code: 'azure.too-long',
    what: `cannot ${operation.what}: the answer has ${excess}`,
    expected: 'an answer that fits into memory',
    next: isOneAgent
      ? 'delete the agent in the pool if a job has given it thousands of capabilities; else check for a proxy that answers instead of Azure DevOps'
      : 'spread the agents over several pools; if the pool is small, check for a proxy that answers instead of Azure DevOps',
  });
}

function authFailure(
  seen: string,
  { status, json, organization }: Answer & { readonly organization: string },
  operation: Operation,
): AzureError {
  const expired = /expired/iu.test(seen);
  const { typeKey } = errorBody(json);
  return new AzureError(
    {
      code: 'azure.auth',
      what: `cannot ${operation.what}: ${expired ? 'the token has expired' : 'token rejected'}`,
      expected: `a valid token of ${organization}`,
      seen,
      next: expired
        ? `make a new token at ${organization}/_usersSettings/tokens, put it where "token:" of the inventory points, then run \`azp-fleet provision\``
        : `check that the token is of this organization and not expired or revoked; a new one, with the ${patScope}, is made at ${organization}/_usersSettings/tokens`,
    },
    { status, ...(typeKey === undefined ? {} : { typeKey }) },
  );
}

interface Kind {
  readonly code: ErrorCode;
  /** Undefined: the operation's own next action. */
  readonly next?: string;
}

const later = 'wait some minutes and run it again; check https://status.dev.azure.com';

const asItSays = 'do what the answer says, then run it again';

const nameTaken: Kind = {
  code: 'azure.conflict',
  next: 'choose another name, or remove the existing entry',
};

/** The type of the error decides, then the status, because one status has many meanings. */
const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/JobStillRunning/u, { code: 'azure.job-running', next: 'drain the agent first, then run it again' }],
  [
    /VersionOutOfRange|InvalidPreviewVersion/u,
    {
      code: 'azure.server-too-old',
      next: 'use Azure DevOps Services, or an Azure DevOps Server that supports version 7.1 of the REST API',
    },
  ],
  [
    /NotFound|PoolRemoved|DoesNotExist/u,
    { code: 'azure.not-found', next: 'check the name, and the access of the token' },
  ],
  [/AccessDenied|AccessCheck|NotEnoughPermissions|Unauthorized/u, { code: 'azure.permission' }],
  [/Exists/u, nameTaken],
];

const byStatus: Readonly<Record<number, Kind>> = {
  403: { code: 'azure.permission' },
  404: {
    code: 'azure.not-found',
    next: 'correct "organization:" in the inventory (without a project), or the name',
  },
  409: nameTaken,
  429: {
    code: 'azure.throttled',
    next: 'wait 5 minutes: all hosts that share one token share its limit; spread them over several tokens',
  },
};

function kindOf(typeKey: string | undefined, status: number): Kind {
  const byType = kinds.find(([pattern]) => typeKey !== undefined && pattern.test(typeKey))?.[1];
  return (
    byType ??
    byStatus[status] ??
    (status >= 500 ? { code: 'azure.server-error', next: later } : { code: 'azure.refused', next: asItSays })
  );
}

/** Parses `{message, typeKey}` or, for bad requests, `{count, value: {Message}}`. */
function errorBody(json: unknown): { message?: string; typeKey?: string } {
  const { message, typeKey, value } = Object(json) as {
    message?: unknown;
    typeKey?: unknown;
    value?: { Message?: unknown } | null;
  };
  const text = typeof message === 'string' ? message : value?.Message;
  return {
    ...(typeof text === 'string' ? { message: text } : {}),
    ...(typeof typeKey === 'string' ? { typeKey } : {}),
  };
}

/** Errors of TLS: a retry does not help. */
const certificateProblem = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/u;

/** Next actions when no answer arrived, by the error's code. */
function nextAbout(seen: string): string {
  if (/answered 407 to CONNECT/u.test(seen))
    return 'allow this machine on the proxy without a password: the inventory has none for it';
  if (seen.startsWith('the proxy ')) return 'correct "proxy:" in the inventory, or check the proxy';
  return 'check the network, "organization:", and "proxy:" (with "ca:") in the inventory';
}

/** The certificate is not valid at the time of the local clock. */
const byTheClock = /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/u;

function notNow(organization: string, operation: Operation, code: string, cause: unknown): AzureError {
  const early = code === 'CERT_NOT_YET_VALID';
  return new AzureError(
    {
      code: 'azure.certificate',
      what: `cannot ${operation.what}: by the clock of this machine the certificate of ${organization} ${early ? 'is not valid yet' : 'has expired'}`,
      seen: `${textOf(rootOf(cause))} (${code})`,
      next: 'correct the clock of this machine (`date` shows it), or have the certificate renewed',
    },
    { cause },
  );
}

/** Returns the error for a request without an answer. */
export function unreachable(organization: string, operation: Operation, cause: unknown): AzureError {
  const root = rootOf(cause);
  if (root instanceof OddStatus) return interposed(root.message, operation, organization, { cause });
  const { code = '' } = Object(root) as { code?: string };
  if (byTheClock.test(code)) return notNow(organization, operation, code, cause);
  if (certificateProblem.test(code)) {
    return new AzureError(
      {
        code: 'azure.certificate',
        what: `cannot ${operation.what}: the certificate of ${organization} is not trusted`,
        seen: `${textOf(root).split(';')[0]} (${code})`,
        next: 'name the PEM file of your site\'s certificate authority in the inventory: "ca: FILE"',
      },
      { cause },
    );
  }
  return new AzureError(
    {
      code: 'azure.unreachable',
      what: `cannot ${operation.what}: ${organization} does not answer`,
      seen: textOf(root),
      next: nextAbout(textOf(root)),
    },
    { cause },
  );
}

/** The built-in fetch reports "fetch failed" and keeps the reason in `cause`. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Each address of the server failed; the error itself has no text.
  if (error instanceof AggregateError) return error.errors.map(textOf).join('; ');
  return error.name === 'TimeoutError' ? 'no answer in time' : error.message || error.name;
}
