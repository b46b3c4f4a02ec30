import type { ErrorCode } from '../src/shared/base/codes/code.ts';
import { codeTables, findings } from '../src/shared/base/codes/tables.ts';
import { composedTexts } from './composed-texts.ts';
import { messagesByCode } from './code-messages.ts';
import { gpuRules } from '../src/shared/health/gpu-rules.ts';
import { screen } from './screens-in-pages.ts';

/** Codes of the rules for one GPU, which are in docs/findings.md. */
export const ruleCodes = new Set<string>(gpuRules.map(({ code }) => code));

/** Every code of docs/errors.md but those of findings about GPUs, which have no message in the source. */
export const errorCodes = codeTables.flatMap(({ entries }) => Object.keys(entries));

/** More messages than this get a separate list below the table. */
const inTable = 8;

/** Returns the messages of each code as the screen shows them; `…` differs from case to case. */
export function allTexts(): ReadonlyMap<string, readonly string[]> {
  const messages = messagesByCode(new Set(errorCodes));
  return new Map(
    [...messages].map(([code, texts]) => [code, [...texts, ...(composedTexts[code as ErrorCode] ?? [])]]),
  );
}

/** Returns docs/errors.md: every code with its cause, its fix, and the messages that it comes with. */
export function errorsPage(texts = allTexts()): string {
  const sections = [...codeTables, findings].map(({ title, entries }) => {
    const rows = Object.entries(entries)
      .filter(([code]) => !ruleCodes.has(code))
      .map(([code, [cause, fix]]) => ({
        code,
        cause,
        fix,
        messages: (texts.get(code) ?? []).filter((text) => !repeats(text, cause)).toSorted(byWords),
      }));
    const table = rows.map(({ code, cause, fix, messages }) => {
      const shown = messages.length > inTable ? [`${messages.length} messages, below`] : messages.map(asText);
      return `| \`${code}\` | ${cause} | ${fix} | ${shown.join('<br>')} |`;
    });
    const lists = rows
      .filter(({ messages }) => messages.length > inTable)
      .map(
        ({ code, messages }) =>
          `### Messages of \`${code}\`\n\n${messages.map((text) => `- ${asText(text)}\n`).join('')}`,
      );
    const intro =
      title === findings.title
        ? 'When each is found, its severity, and the codes of the rules for one GPU: [findings.md](findings.md).\n\n'
        : '';
    return [
      `## ${title}\n\n${intro}| code | cause | fix | message |\n| --- | --- | --- | --- |\n${table.join('\n')}\n`,
      ...lists,
    ].join('\n');
  });
  return `${head}\n${sections.join('\n')}`;
}

const head = `# Errors: every code, its cause and its fix

Each error ends with its code in brackets:

\`\`\`console
${screen('inventory-check-yaml-error')}\`\`\`

\`azp-fleet explain\` prints the entry of a code; this page lists all of them:

\`\`\`console
${screen('explain')}\`\`\`

An error names the place first: the host and the step, or the file with line and column. Then what happened, \`expected\` and
\`seen\` where they help, and \`next\`: what to do in this case, which takes precedence over this page. Codes stay the same from
version to version: in \`--json\`, in the manager's status, in its metrics and in run records.

If several things fail, [\`azp-fleet doctor\`](doctor.md) finds the first one. If that is not enough, \`--debug\` shows more, and each run writes a log whose path it prints (\`~/.local/state/azp-fleet/logs\`).
Secrets are \`***\` in it; names and addresses of hosts are not. [First-hour mistakes](first-hour-mistakes.txt) shows a hundred
common mistakes as they look at 80 columns.

\`…\` in a message differs from case to case. A message that repeats its cause is left out. \`npm run docs\` writes this page from
\`src/shared/base/codes\` and the messages of the source.
`;

/** Compares words only; \`…\` of the message matches anything. */
function repeats(message: string, cause: string): boolean {
  const words = (text: string) =>
    text
      .toLowerCase()
      .split(/[^\p{L}\p{N}…]+/u)
      .filter((word) => word !== '');
  const plain = words(message).filter((word) => !word.includes('…'));
  const known = new Set(words(cause));
  const fresh = plain.filter((word) => !known.has(word) && !/^(?:the|a|an|is|are|of|for|in|on)$/.test(word));
  return fresh.length === 0;
}

function byWords(a: string, b: string): number {
  const plain = (text: string) => text.replace(/^\P{L}+/u, '');
  return plain(a).localeCompare(plain(b), 'en');
}

/** Escapes Markdown. */
function asText(text: string): string {
  return text.replaceAll(/[\\|*_<>`[\]]/g, (mark) => `\\${mark}`).replaceAll(/\s+/g, ' ');
}
