import type { Context } from '../../base/context.ts';
import { isTooShort, shortestHidden } from '../../base/redact.ts';
import { Secret } from '../../base/secret.ts';
import { registriesText, type RegistryLogins } from '../../contract/registries.ts';
import type { Fleet, SecretSource } from '../../inventory/fleet.ts';
import { resolveSecret } from '../../inventory/secret.ts';
import { askSecret, canAsk } from '../ask.ts';

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
    hide: fleetVariables(fleet),
    ...(canAsk(context) ? { ask: async (message) => (await askSecret(context, message)).reveal() } : {}),
  });
  context.log.redact(secret);
  if (isTooShort(secret)) {
    const seen = `${purpose} has fewer than ${shortestHidden} characters`;
    context.stderr.write(`! ${seen}, too few to be hidden in what is printed and logged\n`);
  }
  return secret;
}

/** The PAT, or the service principal's secret. */
export function credentialSource({ credential }: Fleet): SecretSource {
  return credential.kind === 'pat' ? credential.token : credential.secret;
}

/** Variables that hold what the whole fleet works with: programs that we start do without them. */
export function fleetVariables(fleet: Fleet): readonly string[] {
  const registries = Object.values(fleet.registries).map(({ secret }) => secret);
  return [credentialSource(fleet), ...registries].flatMap((source) => ('env' in source ? [source.env] : []));
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
