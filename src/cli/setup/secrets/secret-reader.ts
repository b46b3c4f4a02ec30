import type { Context } from '../../../shared/base/context.ts';
import type { Secret } from '../../../shared/base/secret.ts';
import { resolveSecret } from '../../../fleet/inventory/secret.ts';
import { peekSecrets, secretVariables } from '../../../fleet/inventory/secret-sources.ts';
import { looksOurs } from './secret-variables.ts';
import type { Wizard } from '../wizard-context.ts';

/** How setup reads secrets, and what it starts programs with. */
export interface SecretReader {
  readonly read: Wizard['secret'];
  readonly know: Wizard['know'];
  /** The environment for programs that reach hosts: without what holds a secret of ours, named already or not. */
  readonly environment: () => Context['env'];
}

/** Reads each secret once, hides it from the log, and remembers which variables hold one. */
export function secretReader(context: Context, ask: (message: string) => Promise<string>): SecretReader {
  const found = new Map<string, Promise<Secret>>();
  const names = new Set(Object.keys(context.env).filter(looksOurs));
  return {
    environment: () => Object.fromEntries(Object.entries(context.env).filter(([name]) => !names.has(name))),
    know: (fleet) => {
      for (const name of secretVariables(fleet)) names.add(name);
      for (const secret of peekSecrets(fleet, context.env)) context.log.redact(secret);
    },
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
