import type { Context } from '../../base/context.ts';
import { isTooShort, shortestHidden } from '../../base/redact.ts';
import type { Secret } from '../../base/secret.ts';
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

/** The PAT, or the service principal's secret. */
export function credentialSource({ credential }: Fleet): SecretSource {
  return credential.kind === 'pat' ? credential.token : credential.secret;
}
