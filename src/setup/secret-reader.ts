import type { Context } from '../base/context.ts';
import type { Secret } from '../base/secret.ts';
import { resolveSecret } from '../inventory/secret.ts';
import type { Wizard } from './wizard-context.ts';

/** Variables that setup itself proposes for secrets: nothing that we start inherits them, named already or not. */
const proposed = ['AZP_TOKEN', 'SUDO_PASSWORD'];

/** Reads each secret once, hides it from the log, and remembers which variables hold one. */
export function secretReader(
  context: Context,
  ask: (message: string) => Promise<string>,
): { readonly read: Wizard['secret']; readonly namesOfVariables: () => ReadonlySet<string> } {
  const found = new Map<string, Promise<Secret>>();
  const names = new Set(proposed);
  return {
    namesOfVariables: () => names,
    read: (source, purpose, again) => {
      if ('env' in source) names.add(source.env);
      const key = JSON.stringify(source);
      const known = again === undefined ? found.get(key) : undefined;
      const secret = known ?? resolveSecret(source, { ...context, purpose, ask, hide: [...names] });
      found.set(key, secret);
      secret.then(
        (value) => context.log.redact(value),
        () => found.delete(key),
      );
      return secret;
    },
  };
}
