import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';

import type { AzureClient } from '../azure/client.ts';
import { createAzureClient } from '../azure/create-client.ts';
import { patCredential, servicePrincipalCredential } from '../azure/http/credential.ts';
import { createFetch } from '../azure/http/proxy.ts';
import { organizationUrl } from '../azure/url.ts';
import type { Context } from '../base/context.ts';
import { defined } from '../base/defined.ts';
import { codeOf, usageError } from '../base/errors.ts';
import type { Secret } from '../base/secret.ts';
import { isTooShort, shortestHidden } from '../base/redact.ts';
import { version } from '../base/version.ts';
import type { Fleet, HostSpec, SecretSource } from '../inventory/fleet.ts';
import { loadFleet } from '../inventory/load.ts';
import { expiryWarning, resolveSecret } from '../inventory/secret.ts';
import { selectHosts } from '../inventory/select.ts';
import { askSecret, canAsk } from './ask.ts';
import type { CommandInput } from './command.ts';

/** The inventory, the hosts that the command is about, and what is needed to speak to Azure DevOps. */
export interface OpenFleet {
  readonly fleet: Fleet;
  readonly hosts: readonly HostSpec[];
  /** The PAT, or the service principal's secret. */
  readonly credential: Secret;
  readonly azure: AzureClient;
  /** The content of the site's CA file. */
  readonly caPem: string | undefined;
}

/** Loads the inventory and resolves its credential. Usage errors come from here, before any host is touched. */
export async function openFleet(context: Context, input: CommandInput): Promise<OpenFleet> {
  const fleet = loadFleet(input.inventory, context);
  if (!input.options.flag('json')) warn(context, fleet);
  const hosts = selectHosts(fleet, [...input.options.list('limit'), ...input.positionals]);
  const credential = await resolve(context, fleet, credentialSource(fleet), 'the token');
  const caPem = await readCa(fleet.proxy.ca);
  return { fleet, hosts, credential, caPem, azure: azureClient(context, fleet, credential, caPem) };
}

/** What only looks wrong, and a token that soon ends: one line each. */
function warn(context: Context, { warnings, credential }: Fleet): void {
  const expiry = expiryWarning(credential.expires, context.now());
  for (const { what, next } of [...warnings, ...(expiry === undefined ? [] : [expiry])])
    context.stderr.write(`! ${next === undefined ? what : `${what}; next: ${next}`}\n`);
}

/** Reads a secret of the inventory; from now on the debug log hides it. */
export async function resolve(
  context: Context,
  fleet: Fleet,
  source: SecretSource,
  purpose: string,
): Promise<Secret> {
  const own = credentialSource(fleet);
  const secret = await resolveSecret(source, {
    ...context,
    purpose,
    hide: 'env' in own ? [own.env] : [],
    ...(canAsk(context) ? { ask: async (message) => (await askSecret(context, message)).reveal() } : {}),
  });
  context.log.redact(secret);
  if (isTooShort(secret)) {
    const seen = `${purpose} has fewer than ${shortestHidden} characters`;
    context.stderr.write(`! ${seen}, too few to be hidden in what is printed and logged\n`);
  }
  return secret;
}

/** `user@laptop`, as locks and durable changes name us. */
export function ownerName(context: Context): string {
  return `${context.user}@${hostname()}`;
}

function credentialSource({ credential }: Fleet): SecretSource {
  return credential.kind === 'pat' ? credential.token : credential.secret;
}

function azureClient(context: Context, fleet: Fleet, secret: Secret, caPem: string | undefined): AzureClient {
  const { http, https, noProxy } = fleet.proxy;
  const fetch = createFetch({ ...defined({ http, https, caPem }), noProxy });
  const { credential } = fleet;
  return createAzureClient({
    organization: organizationUrl(fleet.organization),
    credential:
      credential.kind === 'pat'
        ? patCredential(secret)
        : servicePrincipalCredential({ ...credential, secret, fetch, now: () => context.now() }),
    fetch,
    log: context.log,
    signal: context.signal,
    clockScale: fleet.clockScale,
    userAgent: `azp-fleet/${version}`,
  });
}

async function readCa(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw usageError(
      {
        code: 'inventory.ca',
        what: `the CA file ${file} cannot be read`,
        seen: codeOf(error),
        next: 'correct "ca" in the inventory, or put the file there',
      },
      error,
    );
  });
}
