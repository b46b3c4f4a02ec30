import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const screens = join(import.meta.dirname, '../test/unit/cli/screens/80x24');

/** Returns a screen of the tests at 80 columns: the command and its output, without its exit code. */
export function screen(name: string): string {
  return readFileSync(join(screens, `${name}.txt`), 'utf8').replace(/\[exit \d+\]\n$/, '');
}

/** Returns a page with the screens that its markers name, `<!-- screen: NAME -->`, in the block behind each. */
export function withScreens(page: string): string {
  return page.replaceAll(
    /(<!-- screen: ([\w-]+) -->\n)\n```console\n[\s\S]*?```\n/g,
    (_, marker: string, name: string) => `${marker}\n\`\`\`console\n${screen(name)}\`\`\`\n`,
  );
}
