import type { Context } from '../../shared/base/context.ts';
import { usageError } from '../../shared/base/errors.ts';
import { isTooShort, shortestHidden } from '../../shared/base/redact.ts';
import { Secret } from '../../shared/base/secret.ts';
import { registriesText, type RegistryLogins } from '../../shared/contract/registries.ts';
import type { Fleet, HostSpec, SecretSource } from '../../fleet/inventory/fleet.ts';
import { describeSource, peekSecrets, resolveSecret, secretVariables } from '../../fleet/inventory/secret.ts';
import { warn } from '../render/problem.ts';
import { askSecret, canAsk } from '../ask.ts';

/** From now on the inventory's secrets are hidden in all that is printed and logged, used or not; those to be asked for, later. */
export function hideSecrets(context: Context, fleet: Fleet): void {
  for (const secret of peekSecrets(fleet, context.env)) context.log.redact(secret);
}

/** The environment for programs that we start: without the variables that hold the fleet's secrets. */
export function withoutSecrets(env: Context['env'], fleet: Fleet): Context['env'] {
  const secret = new Set(secretVariables(fleet));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}

/** Reads a secret of the inventory; from now on the debug log hides it. */
export async function resolve(
  context: Context,
  fleet: Fleet,
  source: SecretSource,
  purpose: string,
): Promise<Secret> {
  const secret = await resolveSecret(source, {
    ...context,
    purpose,
    hide: secretVariables(fleet),
    ...(canAsk(context) ? { ask: async (message) => (await askSecret(context, message)).reveal() } : {}),
  });
  context.log.redact(secret);
  if (isTooShort(secret)) {
    const seen = `${purpose} has fewer than ${shortestHidden} characters`;
    warn(context.stderr, { what: `${seen}, too few to be hidden in what is printed and logged` });
  }
  return secret;
}

/** What the hosts are to know of registries, as their file has it; undefined: nothing. */
export async function resolveRegistries(context: Context, fleet: Fleet): Promise<Secret | undefined> {
  const logins: Record<string, RegistryLogins[string]> = {};
  for (const [registry, { user, secret }] of Object.entries(fleet.registries)) {
    const found = await resolve(context, fleet, secret, `the password for ${registry}`);
    logins[registry] = { user, secret: found.reveal() };
  }
  return Object.keys(logins).length === 0 ? undefined : new Secret(registriesText(logins));
}

/** Where each host's messages go, by host; those that are in one place are asked for once. */
export async function resolveWebhooks(
  context: Context,
  fleet: Fleet,
  hosts: readonly HostSpec[],
): Promise<ReadonlyMap<string, Secret>> {
  const read = new Map<string, Secret>();
  const found = new Map<string, Secret>();
  for (const { name, webhook } of hosts) {
    if (webhook === undefined) continue;
    const place = JSON.stringify(webhook.url);
    const address = read.get(place) ?? (await webhookAddress(context, fleet, webhook.url, name));
    read.set(place, address);
    found.set(name, address);
  }
  return found;
}

async function webhookAddress(
  context: Context,
  fleet: Fleet,
  source: SecretSource,
  host: string,
): Promise<Secret> {
  const purpose = `the webhook of ${host}`;
  const secret = await resolve(context, fleet, source, purpose);
  const url = URL.parse(secret.reveal());
  if (url !== null && /^https?:$/.test(url.protocol) && !/\s/.test(secret.reveal())) return secret;
  throw usageError({
    code: 'inventory.secret',
    step: 'inventory',
    what: `${purpose} is no http(s) address`,
    expected: 'one address such as https://hooks.lab.example/services/…',
    next: `look at ${describeSource(source)}`,
  });
}
