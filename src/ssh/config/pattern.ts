/** OpenSSH's wildcard match: `*` any run, `?` any one character; nothing else is special. */
function matchPattern(text: string, pattern: string): boolean {
  if (!/[*?]/.test(pattern)) return text === pattern;
  return new RegExp(`^${wildcards(pattern)}$`).test(text);
}

/** One segment of a shell glob: also takes `[abc]`, `[a-z]`, `[!a]`. */
export function matchGlob(text: string, pattern: string): boolean {
  const parts = pattern.split(/(\[[^\]]+\])/);
  const source = parts.map((part, index) => (index % 2 === 1 ? part.replace(/^\[!/, '[^') : wildcards(part)));
  return new RegExp(`^${source.join('')}$`).test(text);
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

/** The source of a regular expression. */
function wildcards(pattern: string): string {
  return pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '[^]*')
    .replaceAll('?', '[^]');
}
