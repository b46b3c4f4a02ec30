import { usageError } from '../../../shared/base/errors.ts';
import type { Secret } from '../../../shared/base/secret.ts';
import type { CredentialSource, SecretSource } from '../fleet.ts';
import { describeSource, writeIt } from '../secret.ts';

/** What people leave beside a token when they paste it. */
const beside: readonly (readonly [pattern: RegExp, seen: string])[] = [
  [/^(["']).*\1$/s, 'quotes around it'],
  [/[\r\n]/, 'more than one line'],
  [/\s/, 'blanks in it'],
];
/** As in a file that a shell reads; a service principal's secret may look so by itself. */
const assigned = [/^(?:export )?[A-Z][A-Z0-9_]*=/, 'the name of a variable before it'] as const;

/** Throws a usage error where something stands beside the token: the server would say no more than that it is refused. */
export function checkToken(token: Secret, source: SecretSource, kind: CredentialSource['kind']): void {
  const text = token.reveal();
  const found = (kind === 'pat' ? [assigned, ...beside] : beside).find(([pattern]) => pattern.test(text));
  if (found === undefined) return;
  throw usageError({
    code: 'inventory.secret',
    step: 'inventory',
    what: `${describeSource(source)} has more than the token`,
    expected: 'the token alone, on one line',
    seen: found[1],
    next:
      'file' in source ? writeIt(source.file) : `put nothing but the token into ${describeSource(source)}`,
  });
}
