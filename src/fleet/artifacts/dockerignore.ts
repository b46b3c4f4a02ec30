/** What a .dockerignore leaves out of a build context. Paths are relative, with `/`. */
export interface Ignore {
  readonly ignores: (path: string) => boolean;
  /** It has exceptions (`!`): below a folder that it leaves out, something may be let in again. */
  readonly hasExceptions: boolean;
}

interface Rule {
  readonly exception: boolean;
  readonly match: RegExp;
}

/**
 * Docker's rules for the file (documented with `docker build`): `*` and `?` within a name, `**` for any folders, `!` for
 * an exception, the last rule that fits decides, and what fits a folder fits all in it. Throws a SyntaxError on a range
 * that cannot be (`[z-a]`).
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

/** As a path is written shortest: no `./`, no doubled or outer slashes, `a/../` resolved. */
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

/** The path, and every folder above it. */
function withParents(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
