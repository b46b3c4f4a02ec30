import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';

import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { credentialSource, describeSource } from '../../fleet/inventory/secret.ts';
import { isHostedService, organizationUrl } from '../../shared/azure/url.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { Secret } from '../../shared/base/secret.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { say } from '../render/lines.ts';
import type { EarlierToken, MintedToken } from '../render/rotation.ts';
import { openAzure, type OpenFleet } from '../run/fleet.ts';
import { type OpenHosts, openHosts } from '../run/inventory.ts';
import { resolve, withoutSecrets } from '../run/secrets.ts';
import { type AzPlace, createToken, type ListedToken, listTokens, poolScope } from './az.ts';
import { keepToken, keptTokens, replaceToken } from './token-file.ts';

/** The fleet, opened with the new token. */
export interface Minted {
  readonly open: OpenFleet;
  readonly minted: MintedToken;
  readonly earlier: EarlierToken;
  /** With --dry-run: there is no new token yet, so that its rights are unknown. */
  readonly isPlanned: boolean;
}

/** Returns the address of an organization's personal access tokens. */
export function tokensUrl(organization: string): string {
  const { hostname, pathname } = new URL(organizationUrl(organization));
  const name = hostname === 'dev.azure.com' ? pathname.slice(1) : hostname.split('.')[0];
  return `https://vssps.dev.azure.com/${name}/_apis/tokens/pats`;
}

/**
 * Creates a token with `az`, stores it in the inventory's file, and keeps the earlier one beside it. Creates none where that was
 * done before and the rotation has not ended. Undefined: the user declined.
 */
export async function mint(
  context: Context,
  input: CommandInput,
  urlOf: (organization: string) => string = tokensUrl,
): Promise<Minted | undefined> {
  const validMs = validFor(input);
  const hosts = openHosts(context, input);
  const { fleet } = hosts;
  const file = mintableFile(fleet, urlOf === tokensUrl);
  await resolve(context, fleet, { file }, 'the token');
  const { signal, cwd } = context;
  const place: AzPlace = {
    env: withoutSecrets(context.env, fleet),
    cwd,
    signal,
    url: urlOf(fleet.organization),
  };
  const kept = keptTokens(file);
  const begun = kept.findLast(({ isUnused }) => !isUnused);
  if (begun !== undefined) return resume(context, input, hosts, place, nameOf(begun.stamp));

  const earlier = await findEarlier(place, fleet, '');
  const now = context.clock.wall();
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const name = nameOf(stamp);
  const expires = new Date(now + validMs).toISOString();
  const asked = `a token "${name}" (Agent Pools: Read & manage, until ${expires.slice(0, 10)})`;
  if (input.options.flag('dryRun')) {
    if (!input.options.flag('json'))
      say(context.stdout, `Would create ${asked} with az, and store it in ${file}.\n\n`);
    const open = await openAzure(context, input, hosts);
    // Differs from the token of every host.
    const planned = { ...open, credential: new Secret(randomUUID()) };
    return { open: planned, minted: { name, expires }, earlier, isPlanned: true };
  }
  const question = `Create ${asked} as the user of az, and store it in ${file}?`;
  const unasked = 'review the plan with --mint --dry-run, then run again with --yes';
  if (!input.options.flag('yes') && !(await confirm(context, question, unasked))) {
    say(context.stderr, 'No changes made.\n');
    return undefined;
  }
  for (const { file: unused } of kept) rmSync(unused, { force: true });
  const minted = await store(context, { place, file, name, stamp, expires, page: pageOf(fleet) });
  say(context.stderr, `Created token "${name}", valid until ${dayOf(minted.expires)}, in ${file}.\n`);
  return { open: await openAzure(context, input, hosts), minted, earlier, isPlanned: false };
}

/** Continues with the token that an earlier run created. Needs no `az`. */
async function resume(
  context: Context,
  input: CommandInput,
  hosts: OpenHosts,
  place: AzPlace,
  name: string,
): Promise<Minted> {
  say(context.stderr, `Token "${name}" exists since an earlier run: continuing with it.\n`);
  const earlier = await findEarlier(place, hosts.fleet, name).catch((error: unknown): EarlierToken => ({
    kind: 'unknown',
    why: whyOf(error),
  }));
  context.signal.throwIfAborted();
  const open = await openAzure(context, input, hosts);
  return { open, minted: { name, expires: null }, earlier, isPlanned: false };
}

interface Order {
  readonly place: AzPlace;
  readonly file: string;
  readonly name: string;
  readonly stamp: string;
  readonly expires: string;
  readonly page: string;
}

/** Creates the token and puts it into its file. Until it is there, the file has the earlier one. */
async function store(
  { log, signal }: Context,
  { place, file, name, stamp, expires, page }: Order,
): Promise<MintedToken> {
  // Written first: a token that cannot be stored must not be created.
  const kept = keepToken(file, stamp);
  try {
    const token = await createToken(place, name, expires);
    log.redact(token.secret);
    replaceToken(file, token.secret);
    return { name, expires: token.expires };
  } catch (error) {
    rmSync(kept, { force: true });
    if (!(error instanceof FleetError) || !leavesToken.has(error.problem.code)) throw error;
    const revoke = `if ${page} lists "${name}", revoke it there`;
    if (signal.aborted)
      throw new FleetError({ ...error.problem, what: `canceled while az created a token: ${revoke}` });
    throw new FleetError({ ...error.problem, next: `${revoke}; ${error.problem.next ?? 'run it again'}` });
  }
}

/** Errors after which the token may exist. */
const leavesToken: ReadonlySet<string> = new Set(['azure.az-failed', 'inventory.token-write']);

/** Returns the tokens that may be the earlier one. `created`: the name of the new one. Throws where az cannot be used at all. */
async function findEarlier(
  place: AzPlace,
  { credential }: Pick<Fleet, 'credential'>,
  created: string,
): Promise<EarlierToken> {
  try {
    return earlierAmong(await listTokens(place), credential.expires, created);
  } catch (error) {
    if (error instanceof FleetError && error.problem.code === 'azure.az-failed')
      return { kind: 'unknown', why: whyOf(error) };
    throw error;
  }
}

/** Full access includes the scope. */
const scopes = new Set([poolScope, 'app_token']);

/** Returns which tokens may be the earlier one; `expires` of the inventory may decide. The list does not show secrets. Pure. */
function earlierAmong(
  listed: readonly ListedToken[],
  expires: string | undefined,
  created: string,
): EarlierToken {
  const able = listed.filter(
    ({ name, scope }) => name !== created && scope.split(/\s+/).some((word) => scopes.has(word)),
  );
  const tokens = able.map((token) => ({ name: token.name, expires: token.expires }));
  const dated = tokens.filter((token) => expires !== undefined && token.expires?.slice(0, 10) === expires);
  if (dated.length === 1) return { kind: 'known', tokens: dated };
  if (tokens.length > 0) return { kind: 'candidates', tokens };
  return { kind: 'unknown', why: 'the user of az has no other token for agent pools' };
}

function whyOf(error: unknown): string {
  if (!(error instanceof FleetError)) throw error;
  return error.problem.seen ?? error.problem.what;
}

const dayMs = 86_400_000;

/** Azure DevOps makes no token for longer than a year. */
function validFor({ options }: CommandInput): number {
  const ms = options.duration('validFor') ?? 90 * dayMs;
  if (ms >= dayMs && ms <= 365 * dayMs) return ms;
  throw usageError({
    code: 'usage.option',
    what: '--valid-for is out of range',
    expected: '1d to 365d',
    seen: options.string('validFor') ?? '',
    next: 'replace it with an expected value',
  });
}

/** Returns the file of the token. Throws where a new token has no place to be stored, or no service makes it. */
function mintableFile(fleet: Fleet, needsService: boolean): string {
  const { credential, organization } = fleet;
  const source = credentialSource(fleet);
  const refused = (what: string, next: string) =>
    usageError({ code: 'usage.mint', step: 'token', what: `--mint cannot be used: ${what}`, next });
  if (fleet.identity !== undefined)
    throw refused(
      'the hosts store no token: their managers log in by themselves',
      'replace the credential of this machine where the inventory takes it from',
    );
  if (credential.kind !== 'pat')
    throw refused(
      'the fleet has a service principal, and no personal access token',
      'create a client secret in Microsoft Entra ID, put it where the inventory points, and run it without --mint',
    );
  if (needsService && !isHostedService(organizationUrl(organization)))
    throw refused(
      'Azure DevOps Server has no service that creates tokens',
      `create one at ${pageOf(fleet)}, put it into ${describeSource(source)}, and run it without --mint`,
    );
  if ('file' in source) return source.file;
  throw refused(
    `it stores the token in a file, and the inventory takes it from ${describeSource(source)}`,
    'set token: { file: PATH } in the inventory; or create the token in the browser, store it there, and run it without --mint',
  );
}

function nameOf(stamp: string): string {
  return `azp-fleet ${stamp}`;
}

function pageOf({ organization }: Pick<Fleet, 'organization'>): string {
  return `${organizationUrl(organization)}/_usersSettings/tokens`;
}

function dayOf(expires: string | null): string {
  return expires?.slice(0, 10) ?? 'an unknown date';
}
