import type { ErrorCode } from '../src/shared/base/codes/code.ts';
import { composedTexts } from './composed-texts.ts';
import { codeTables } from '../src/shared/base/codes/tables.ts';
import { errorCodes } from './errors-page.ts';
import { saidTexts } from './said-texts.ts';

/** What a reader of the screen can look for, for each code; `…` differs from case to case. */
export function allTexts(): ReadonlyMap<string, readonly string[]> {
  const said = saidTexts(new Set(errorCodes));
  return new Map(
    [...said].map(([code, texts]) => [code, [...texts, ...(composedTexts[code as ErrorCode] ?? [])]]),
  );
}

/** docs/troubleshooting.md: what is read on the screen, with where it belongs, why it is so and what ends it. */
export function troubleshootingPage(texts = allTexts()): string {
  const tables = codeTables.map(({ title, entries }) => {
    const rows = Object.entries(entries)
      .map(([code, [cause, fix]]) => ({
        code,
        cause,
        fix,
        said: (texts.get(code) ?? []).toSorted(byWords),
      }))
      .toSorted((a, b) => byWords(a.said[0] ?? '', b.said[0] ?? ''))
      .map(
        ({ code, cause, fix, said }) =>
          `| ${said.map(asText).join('<br>')} | ${cause} | ${fix} | \`${code}\` |`,
      );
    return `## ${title}\n\n| what you read | cause | fix | code |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `${head}\n${tables.join('\n')}`;
}

const head = `# Troubleshooting, by what you read

Look for some words of the message, without names and numbers; \`…\` stands for what differs from case to case. The sections
are the places where things go wrong.

## How a message reads

    ✗ h200-1 · driver: Secure Boot is on, and the kernel would reject the
      modules that are built on this host: …
      next      …

The place comes first: the host and the step, or the file with line and column. Then what happened; \`expected\` and \`seen\`,
where they help; and \`next\`, what to do in this very case, which goes before what a table here says in general. With
\`--json\` each problem has its \`code\`; [errors.md](errors.md) is sorted by it. What is wrong with a GPU has its page:
[health.md](health.md).

Where that is not enough: \`--debug\` shows more, and each run leaves a log, which is named at its end
(\`~/.local/state/azp-fleet/logs\`). Secrets are \`***\` in it; names and addresses of hosts are not.

How more than a hundred mistakes of the first hour look at 80 columns, and what ends each:
[first-hour-mistakes.txt](first-hour-mistakes.txt).

Written by \`npm run docs\` from the source; a code without an entry fails a test.
`;

function byWords(a: string, b: string): number {
  const plain = (text: string) => text.replace(/^\P{L}+/u, '');
  return plain(a).localeCompare(plain(b), 'en');
}

/** Nothing of it is a mark of Markdown. */
function asText(text: string): string {
  return text.replaceAll(/[\\|*_<>`[\]]/g, (mark) => `\\${mark}`).replaceAll(/\s+/g, ' ');
}
