import { readFile } from 'node:fs/promises';

import { type Builds, createBuilds } from '../../shared/azure/builds.ts';
import { type AgentReleases, createAgentReleases } from '../../shared/azure/agent-releases.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import { createAzureClient } from '../../shared/azure/create-client.ts';
import { patCredential, servicePrincipalCredential } from '../../shared/azure/http/credential.ts';
import { createFetch, type Fetch } from '../../shared/azure/http/proxy.ts';
import type { RestOptions } from '../../shared/azure/http/rest.ts';
import { createTokenPermissions, type TokenPermissions } from '../../shared/azure/token-permissions.ts';
import { organizationUrl } from '../../shared/azure/url.ts';
import type { Context } from '../../shared/base/context.ts';
import { defined } from '../../shared/base/objects.ts';
import { usageError, whyNot } from '../../shared/base/errors.ts';
import { Secret } from '../../shared/base/secret.ts';
import { version } from '../../shared/base/version.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { checkToken, credentialSource, expiryWarning } from '../../fleet/inventory/secret.ts';
import { warn } from '../render/problem.ts';
import type { CommandInput } from '../command.ts';
import { connected, type Connected, overSsh } from './hosts.ts';
import { openHosts, type OpenHosts } from './inventory.ts';
import { resolve, resolveRegistries, resolveWebhooks } from './secrets.ts';

/** The inventory, the selected hosts, and access to Azure DevOps. */
export interface OpenFleet extends OpenHosts {
  /** The PAT, or the service principal's secret. */
  readonly credential: Secret;
  readonly azure: AzureClient;
  readonly permissions: TokenPermissions;
  readonly builds: Builds;
  readonly agentReleases: AgentReleases;
  /** Registry logins for the hosts; undefined if there are none, or for commands without a plan. */
  readonly registries: Secret | undefined;
  /** Webhook addresses by host; empty for commands without a plan. */
  readonly webhooks: ReadonlyMap<string, Secret>;
  /** Returns the content of the site's CA file. */
  readonly caPem: string | undefined;
}

/** Loads the inventory and resolves its credential. Throws usage errors before any host is contacted. */
export async function openFleet(
  context: Context,
  input: CommandInput,
  patterns?: readonly string[],
): Promise<OpenFleet> {
  const open = openHosts(context, input, patterns);
  const expiry = expiryWarning(open.fleet.credential.expires, context.clock.wall());
  if (!input.options.flag('json') && expiry !== undefined) {
    const hasExpired = expiry.code === 'inventory.token-expired';
    warn(context.stderr, hasExpired ? expiry : { what: `${expiry.what} [${expiry.code}]` });
  }
  return openAzure(context, input, open);
}

/** Resolves the credential of an inventory. `noting`: wraps the fetch of the clients. */
export async function openAzure(
  context: Context,
  input: CommandInput,
  { fleet, hosts }: OpenHosts,
  noting: (fetch: Fetch) => Fetch = (fetch) => fetch,
): Promise<OpenFleet> {
  const json = input.options.flag('json');
  const source = credentialSource(fleet);
  // Without spaces at its ends, as the hosts read it: both compare it by a digest.
  const credential = new Secret((await resolve(context, fleet, source, 'the token')).reveal().trim());
  checkToken(credential, source, fleet.credential, context.clock.wall());
  const caPem = await readCa(fleet.proxy.ca);
  let say = (text: string): void => {
    if (!json) warn(context.stderr, { what: text });
  };
  const onPause = (server: string, ms: number) =>
    say(`${server} limits requests: waiting ${Math.ceil(ms / 1000)} s`);
  const options = restOptions(context, fleet, { secret: credential, caPem, onPause });
  const rest = { ...options, fetch: noting(options.fetch) };
  return {
    fleet,
    hosts,
    credential,
    registries: undefined,
    webhooks: new Map(),
    caPem,
    azure: createAzureClient(rest),
    permissions: createTokenPermissions(rest),
    builds: createBuilds(rest),
    agentReleases: createAgentReleases(rest),
    noteBy: (drawn) => {
      say = drawn;
    },
  };
}

/** Opens the fleet for commands with a plan: also reads registry passwords and webhooks. */
export async function openForPlan(context: Context, input: CommandInput): Promise<OpenFleet> {
  return forPlan(context, await openFleet(context, input));
}

/** Reads registry passwords and webhooks, which a plan needs. */
export async function forPlan(context: Context, open: OpenFleet): Promise<OpenFleet> {
  const { fleet, hosts } = open;
  return {
    ...open,
    registries: await resolveRegistries(context, fleet),
    webhooks: await resolveWebhooks(context, fleet, hosts),
  };
}

/** Runs a command that contacts hosts and Azure DevOps. */
export async function withFleet<T>(
  context: Context,
  input: CommandInput,
  body: (at: OpenFleet & Connected) => Promise<T>,
  open: typeof openForPlan = openFleet,
): Promise<T> {
  return connected(context, input, await open(context, input), overSsh, body);
}

/** Returns the options of a client of the fleet's organization. `onPause` gets the name of the server that limits requests. */
export function restOptions(
  { clock, log, signal }: Context,
  {
    organization,
    credential,
    proxy: { http, https, noProxy },
  }: Pick<Fleet, 'organization' | 'credential' | 'proxy'>,
  {
    secret,
    caPem,
    onPause,
  }: { secret: Secret; caPem: string | undefined; onPause?: (server: string, ms: number) => void },
): RestOptions & { readonly fetch: Fetch } {
  const fetch = createFetch({ ...defined({ http, https, caPem }), noProxy });
  return {
    organization: organizationUrl(organization),
    credential:
      credential.kind === 'pat'
        ? patCredential(secret)
        : servicePrincipalCredential({
            ...credential,
            secret,
            fetch,
            clock,
            onPause: (ms) => onPause?.('Microsoft Entra ID', ms),
          }),
    fetch,
    log,
    signal,
    clock,
    userAgent: `azp-fleet/${version}`,
    onPause: (ms) => onPause?.('Azure DevOps', ms),
  };
}

/** Returns the content of the site's CA file. */
export async function readCa(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw usageError(
      {
        code: 'inventory.ca',
        what: `the CA file ${file} cannot be read`,
        seen: whyNot(error),
        next: 'correct "ca:" in the inventory, or copy the file there',
      },
      error,
    );
  });
}
