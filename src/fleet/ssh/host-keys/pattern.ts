/** OpenSSH's wildcard match: `*` any run, `?` any one character; nothing else is special. */
function matchPattern(text: string, pattern: string): boolean {
  if (!/[*?]/.test(pattern)) return text === pattern;
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '[^]*')
    .replaceAll('?', '[^]');
  return new RegExp(`^${source}$`).test(text);
}

/** Patterns with `!` negation: a negated one that matches ends it; otherwise any positive match will do. */
export function matchList(text: string, patterns: readonly string[]): boolean {
  let found = false;
  for (const pattern of patterns) {
    const negated = pattern.startsWith('!');
    if (!matchPattern(text, negated ? pattern.slice(1) : pattern)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}
