import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const comment = /^\s*(?:\*|\/\/|\/\*)/;
const shellText =
  /\bsh`|\/bin\/sh\b|^\s*(?:fi|done|esac) *(?:$|[<|`'&])|; (?:fi|done|esac)\b|2>|\|\| (?::|\{ )/m;

/** The sources that hold shell text, by how it looks. */
export function sourcesWithShell(): string[] {
  return globSync('src/**/*.ts', { cwd: root })
    .filter((file) => shellText.test(withoutComments(readFileSync(join(root, file), 'utf8'))))
    .toSorted();
}

function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !comment.test(line))
    .join('\n');
}
