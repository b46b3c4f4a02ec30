import { type ExecFileException, execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { foreignJson, foreignLine, foreignLines } from '../../shared/base/foreign-text.ts';
import { excessIn, readerBounds } from '../../shared/base/reader-bounds.ts';
import { Secret } from '../../shared/base/secret.ts';

/** How `az` runs: as the user runs it, but without the variables that hold secrets of the inventory. */
export interface AzPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** The organization's address of personal access tokens. */
  readonly url: string;
}

/** A token as Azure DevOps lists it. The list has no secrets. */
export interface ListedToken {
  readonly name: string;
  /** ISO 8601; null: not reported. */
  readonly expires: string | null;
  readonly scope: string;
}

export interface NewToken {
  readonly secret: Secret;
  /** ISO 8601; null: not reported. A policy may shorten what was asked for. */
  readonly expires: string | null;
}

/** The scope "Agent Pools (Read & manage)". */
export const poolScope = 'vso.agentpools_manage';
/** Azure DevOps as Microsoft Entra ID knows it, the same in every tenant. */
const resource = '499b84ac-1321-427f-aa17-267ca6975798';
const apiVersion = '7.1-preview.1';
const timeoutMs = 120_000;
/** Pages of the list that are read; a person has a few tokens. */
const mostPages = 10;
const longestContinuation = 4000;

/** Returns the active tokens of the user of `az`. Throws `azure.az-…`. */
export async function listTokens(place: AzPlace): Promise<readonly ListedToken[]> {
  const tokens: ListedToken[] = [];
  let next = '';
  for (let page = 0; page < mostPages; page += 1) {
    const query = new URLSearchParams({
      displayFilterOption: 'active',
      ...(next === '' ? {} : { continuationToken: next }),
      'api-version': apiVersion,
    });
    const { patTokens, continuationToken } = await rest(place, 'get', query);
    if (!Array.isArray(patTokens)) throw unreadable('the list of tokens');
    tokens.push(...patTokens.flatMap(listedToken));
    if (typeof continuationToken !== 'string' || continuationToken === '') return tokens;
    if (continuationToken.length > longestContinuation) throw unreadable('the continuation of the list');
    next = continuationToken;
  }
  throw unreadable(`a list of more than ${mostPages} pages of tokens`);
}

/** Creates a token of the user of `az`, for this organization only. Throws `azure.az-…`, `azure.pat-disabled`. */
export async function createToken(place: AzPlace, name: string, expires: string): Promise<NewToken> {
  const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-'));
  try {
    const file = join(folder, 'body.json');
    const body = { displayName: name, scope: poolScope, validTo: expires, allOrgs: false };
    writeFileSync(file, JSON.stringify(body), { mode: 0o600, flag: 'wx' });
    const answer = await rest(place, 'post', new URLSearchParams({ 'api-version': apiVersion }), [
      '--headers',
      'Content-Type=application/json',
      '--body',
      `@${file}`,
    ]);
    const error = answer['patTokenError'];
    if (typeof error === 'string' && error !== 'none') throw refusal(error) ?? failed(error);
    const { token, validTo } = Object(answer['patToken']) as Record<string, unknown>;
    if (typeof token !== 'string' || !tokenShape.test(token)) throw unreadable('the new token');
    return { secret: new Secret(token), expires: dateOf(validTo) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a header and a file of one line can hold. */
const tokenShape = /^[\x21-\x7e]{20,2000}$/;

function listedToken(value: unknown): readonly ListedToken[] {
  const { displayName, validTo, scope } = Object(value) as Record<string, unknown>;
  if (typeof displayName !== 'string' || typeof scope !== 'string') return [];
  return [{ name: foreignLine(displayName, 200), expires: dateOf(validTo), scope: foreignLine(scope) }];
}

function dateOf(value: unknown): string | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

/** Calls the service. No argument is a secret; stdout may be one, so it is in no error. */
async function rest(
  { env, cwd, signal, url }: AzPlace,
  method: 'get' | 'post',
  query: URLSearchParams,
  more: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const args = ['rest', '--method', method, '--url', `${url}?${query.toString()}`, '--resource', resource];
  const { bytes, values } = readerBounds.azAnswer;
  // A new token is waited for: one whose answer is lost would stay valid in Azure DevOps.
  const options = {
    // The user may have configured a log file of az: it would record the answer.
    env: { ...env, AZURE_LOGGING_ENABLE_LOG_FILE: 'no' },
    cwd,
    timeout: timeoutMs,
    maxBuffer: bytes,
    ...(method === 'get' ? { signal } : {}),
  };
  const stdout = await new Promise<string>((resolve, reject) => {
    const child = execFile(
      'az',
      [...args, ...more, '--output', 'json', '--only-show-errors'],
      options,
      (error, out, stderr) => (error === null ? resolve(out) : reject(azError(error, stderr))),
    );
    child.stdin?.end();
  });
  if (/^\s*</.test(stdout)) throw noLogin('Azure DevOps answered with its sign-in page');
  const answer = excessIn(stdout, values) === undefined ? foreignJson(stdout) : undefined;
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw unreadable('its answer');
  return answer as Record<string, unknown>;
}

/** Returns the error for an `az` that did not end well. Its cause is not kept: it may hold what az printed. */
function azError(error: ExecFileException, stderr: string): Error {
  const { code, killed, signal } = error;
  if (error.name === 'AbortError') return error;
  if (code === 'ENOENT' || code === 'EACCES')
    return azProblem({
      code: 'azure.az-missing',
      what: 'the az command is missing on this machine, and --mint needs it',
      next: 'install the Azure CLI and run az login; or create the token in the browser, and run without --mint',
    });
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return failed(`more than ${readerBounds.azAnswer.bytes} bytes`);
  if (killed === true) return failed(`no answer in ${timeoutMs / 1000} s`);
  const text = foreignLines(withoutTokens(stderr));
  return (
    refusal(text) ?? failed(text.trim() === '' ? `exit code ${String(code ?? signal)}` : shortened(text))
  );
}

function shortened(text: string): string {
  return foreignLine(text, 600);
}

/** Hides what may be a token in text of another program. */
function withoutTokens(text: string): string {
  return text.replaceAll(/[A-Za-z0-9_-]{40,}/g, '***');
}

const logIn =
  'run az login --allow-no-subscriptions as a user of the organization (--tenant names its tenant), then run it again';

/** Refusals by what Azure DevOps, Microsoft Entra ID and az say; the first that matches counts. */
const refusals: readonly (readonly [pattern: RegExp, error: (seen: string) => Error])[] = [
  [
    /disablePatCreationPolicyViolation|globalPATCreationBlocked|PAT creation (is )?(disabled|blocked)/i,
    (seen) =>
      azProblem({
        code: 'azure.pat-disabled',
        what: 'the organization does not let this user create personal access tokens',
        seen,
        next: 'ask an administrator for an exception (Organization settings > Policies > Restrict personal access token creation), or use a service principal',
      }),
  ],
  [
    /PolicyViolation|failedToRead(Tenant|Org)Policy|AADSTS530\d\d|Conditional Access/i,
    (seen) =>
      azProblem({
        code: 'azure.az-policy',
        what: 'a policy of the organization or of Microsoft Entra ID refuses the token',
        seen,
        next: 'ask an administrator which policy this is; a shorter --valid-for may be allowed',
      }),
  ],
  [
    /Service principals are not allowed|service principals? or managed identit/i,
    (seen) =>
      azProblem({
        code: 'azure.az-login',
        what: 'az is logged in as a service principal, which can have no tokens',
        seen,
        next: logIn,
      }),
  ],
  [/az login|AADSTS\d+|Interactive authentication is needed/i, (seen) => noLogin(seen)],
  [
    /^(ERROR: )?(Unauthorized|Forbidden)\b|TF400813|VS30063|accessDenied/im,
    (seen) =>
      azProblem({
        code: 'azure.az-refused',
        what: 'Azure DevOps does not accept the user of az',
        seen,
        next: 'run az login as a user of this organization (az account show names the present one)',
      }),
  ],
];

function refusal(seen: string): Error | undefined {
  return refusals.find(([pattern]) => pattern.test(seen))?.[1](shortened(seen));
}

function noLogin(seen: string): Error {
  return azProblem({
    code: 'azure.az-login',
    what: 'az is not logged in to the tenant of this organization',
    seen,
    next: logIn,
  });
}

function unreadable(what: string): Error {
  return failed(`${what} has not the documented form`);
}

function failed(seen: string): Error {
  return azProblem({
    code: 'azure.az-failed',
    what: 'az could not ask Azure DevOps about tokens',
    seen,
    next: 'try it again; or create the token in the browser, and run without --mint',
  });
}

function azProblem(problem: Problem): Error {
  return new FleetError({ step: 'token', ...problem });
}
