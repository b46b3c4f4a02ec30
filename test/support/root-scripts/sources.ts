import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const comment = /^\s*(?:\*|\/\/|\/\*)/;
const shellText =
  /\bsh`|\/bin\/sh\b|^\s*(?:fi|done|esac) *(?:$|[<|`'&])|; (?:fi|done|esac)\b|2>|\|\| (?::|\{ )/;
/** Shorter pieces are found in the scripts of other sources. */
const tellingLength = 12;

export interface ShellSource {
  readonly file: string;
  /** Pieces of its lines that are unchanged in a script: text between quotes, interpolations and escapes. */
  readonly lines: readonly string[];
}

/** The sources that contain shell text, recognised by its syntax. */
export function sourcesWithShell(): ShellSource[] {
  return globSync('src/**/*.ts', { cwd: root })
    .toSorted()
    .flatMap((file) => {
      const lines = readFileSync(join(root, file), 'utf8')
        .split('\n')
        .filter((line) => !comment.test(line));
      if (!lines.some((line) => shellText.test(line))) return [];
      const pieces = lines.flatMap((line) => line.split(/\$\{[^}]*\}|\bsh`|[`'"\\]|^\s+/));
      return [{ file, lines: pieces.filter((piece) => /[ $]/.test(piece) && piece.length >= tellingLength) }];
    });
}
