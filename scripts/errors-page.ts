import { codeTables } from '../src/shared/base/codes/tables.ts';

/** Every code of docs/errors.md. */
export const errorCodes = codeTables.flatMap(({ entries }) => Object.keys(entries));

/** docs/errors.md: every code with what it means and what ends it. */
export function errorsPage(): string {
  const tables = codeTables.map(({ title, entries }) => {
    const rows = Object.entries(entries).map(([code, [cause, fix]]) => `| \`${code}\` | ${cause} | ${fix} |`);
    return `## ${title}\n\n| code | cause | fix |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Codes

Every problem has a \`code\` that stays the same from version to version: in \`--json\`, in the manager's status, in its
metrics and in run records. The message itself names host, step, what was expected and seen, and the next action for its
case. Findings about GPUs are in [health.md](health.md).

Written by \`npm run docs\` from \`src/shared/base/codes\`; nothing compiles with a code that is not there.

${tables.join('\n')}`;
}
