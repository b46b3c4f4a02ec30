/** The rules of a .dockerignore for a build context. Paths are relative, with `/`. */
export interface Ignore {
  readonly ignores: (path: string) => boolean;
  /** It has exceptions (`!`): files below an excluded folder may be included. */
  readonly hasExceptions: boolean;
}

interface Rule {
  readonly exception: boolean;
  readonly match: RegExp;
}

/**
 * Parses the file by Docker's rules (documented with `docker build`): `*` and `?` within a name, `**` for any folders, `!` for
 * an exception, the last rule that matches decides, and a rule that matches a folder matches all in it. Throws a SyntaxError on an
 * invalid range (`[z-a]`).
 */
export function dockerignore(text: string): Ignore {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '!')
    .map(rule);
  return {
    ignores: (path) => {
      const paths = withParents(path);
      return rules.findLast(({ match }) => paths.some((each) => match.test(each)))?.exception === false;
    },
    hasExceptions: rules.some(({ exception }) => exception),
  };
}

function rule(line: string): Rule {
  const exception = line.startsWith('!');
  const pattern = exception ? line.slice(1).trim() : line;
  return { exception, match: new RegExp(`^${expression(cleaned(pattern))}$`, 'su') };
}

/** Returns the shortest form of a path: no `./`, no doubled or outer slashes, `a/../` resolved. */
function cleaned(pattern: string): string {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '..' && parts.length > 0) parts.pop();
    else if (part !== '' && part !== '.' && part !== '..') parts.push(part);
  }
  return parts.join('/');
}

const tokens = /\*\*\/?|\*|\?|\\(.)|\[[^\]/]+\]|./gsu;

function expression(pattern: string): string {
  return pattern.replaceAll(tokens, (token, escaped: string | undefined) => {
    if (token === '**') return '.*';
    if (token === '**/') return '(?:.*/)?';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    if (token.length > 1 && token.startsWith('[')) return token.replaceAll('\\', '\\\\');
    return (escaped ?? token).replace(/[$()*+.?[\\\]^{|}/]/, String.raw`\$&`);
  });
}

/** Returns the path and every folder above it. */
function withParents(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
