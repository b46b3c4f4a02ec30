import type { Rule } from '../src/shared/health/gpu-rules.ts';

const written =
  /(<!-- Written by `npm run docs` from src\/shared\/health\/gpu-rules\.ts; a test holds the two together\. -->\n)[\s\S]*?(<!-- Until here\. -->)/;

/** Returns docs/health.md with the table of rules between its two markers. */
export function withRulesTable(page: string, rules: readonly Rule<never>[]): string {
  if (!written.test(page)) throw new Error('docs/health.md has no markers around the table of rules');
  return page.replace(written, (_, start: string, end: string) => `${start}\n${table(rules)}\n${end}`);
}

function table(rules: readonly Rule<never>[]): string {
  const rows = rules.map(
    ({ code, when, severity, failsAfterMin, source = '', next }) =>
      `| \`${code}\` | ${when} | ${severity}${failsAfterMin === undefined ? '' : `; fail after ${failsAfterMin} min`} | ${next.replaceAll('{bus}', 'ADDRESS')} | ${source} |`,
  );
  return [
    '| code | when | severity | what to do | source of the threshold |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
