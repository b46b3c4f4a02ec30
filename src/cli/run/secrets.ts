import type { Context } from '../../shared/base/context.ts';
import { usageError } from '../../shared/base/errors.ts';
import { isTooShort, shortestHidden } from '../../shared/base/redact.ts';
import { Secret } from '../../shared/base/secret.ts';
import { registriesText, type RegistryLogins } from '../../shared/contract/registries.ts';
import type { Fleet, HostSpec, SecretSource } from '../../fleet/inventory/fleet.ts';
import { describeSource, peekSecrets, resolveSecret, secretVariables } from '../../fleet/inventory/secret.ts';
import { warn } from '../render/problem.ts';
import { askSecret, canAsk } from '../ask.ts';

/** Redacts the inventory's secrets from all output and logs; secrets that must be typed are redacted later. */
export function hideSecrets(context: Context, fleet: Fleet): void {
  for (const secret of peekSecrets(fleet, context.env)) context.log.redact(secret);
}

/** Returns the environment for child processes, without the variables that hold the fleet's secrets. */
export function withoutSecrets(env: Context['env'], fleet: Fleet): Context['env'] {
  const secret = new Set(secretVariables(fleet));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}

/** Reads a secret of the inventory and redacts it from now on. `note` shows a warning. */
export async function resolve(
  context: Context,
  fleet: Fleet,
  source: SecretSource,
  purpose: string,
  note = (text: string): void => warn(context.stderr, { what: text }),
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
    note(`${seen}: too short to be redacted from output and logs`);
  }
  return secret;
}

/** Returns the registry logins as the hosts' file has them; undefined if there are none. */
export async function resolveRegistries(context: Context, fleet: Fleet): Promise<Secret | undefined> {
  const logins: Record<string, RegistryLogins[string]> = {};
  for (const [registry, { user, secret }] of Object.entries(fleet.registries)) {
    const found = await resolve(context, fleet, secret, `the password for ${registry}`);
    logins[registry] = { user, secret: found.reveal() };
  }
  return Object.keys(logins).length === 0 ? undefined : new Secret(registriesText(logins));
}

/** Returns the webhook addresses by host; a shared source is read once. */
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
    what: `${purpose} is not an HTTP(S) URL`,
    expected: 'one URL such as https://hooks.lab.example/services/…',
    next: `check ${describeSource(source)}`,
  });
}
