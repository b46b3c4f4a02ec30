import { Secret } from '../../../shared/base/secret.ts';
import type { Wizard } from '../wizard-context.ts';

/** Asks for a secret without showing it, and hides it from the log. */
export async function askHidden(
  { context, prompts }: Pick<Wizard, 'context' | 'prompts'>,
  text: string,
): Promise<Secret> {
  const secret = new Secret(await prompts.hidden(text));
  context.log.redact(secret);
  return secret;
}
