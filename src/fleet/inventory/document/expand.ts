interface Unset {
  readonly variable: string;
  /** Offset of the `$` in the text. */
  readonly offset: number;
}

export interface Expanded {
  readonly value: string;
  readonly unset: readonly Unset[];
}

const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` (the default also stands in for an empty variable, as in a shell).
 * `$${` is a literal `${`. What is not a well-formed reference counts as unset, under the text that stands there.
 */
export function expand(text: string, env: Readonly<Record<string, string | undefined>>): Expanded {
  const unset: Unset[] = [];
  const value = text.replaceAll(
    reference,
    (match: string, variable?: string, fallback?: string, offset = 0) => {
      if (match === '$${') return '${';
      const found = variable === undefined ? undefined : env[variable];
      if (found !== undefined && !(found === '' && fallback !== undefined)) return found;
      if (fallback !== undefined) return fallback;
      unset.push({ variable: variable ?? '', offset });
      return match;
    },
  );
  return { value, unset };
}
