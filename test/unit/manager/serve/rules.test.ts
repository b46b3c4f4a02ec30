// The alerts, checked with promtool, which scripts/dev.mjs installs.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { promtool } from '../../../support/promtool.ts';

const rules = 'docs/prometheus-rules.yml';

test.for([
  ['the rules are valid', ['check', 'rules', '--lint-fatal', rules]],
  [
    'each alert fires at the right time, with its text',
    ['test', 'rules', 'test/fixtures/prometheus/rules-test.yml'],
  ],
] as const)('%s', async ([, args], { annotate }) => {
  const seen = promtool(args);
  if (seen === undefined) await annotate('promtool is not installed: the alerts were not checked');
  else expect(seen.code === 0 ? '' : seen.said).toBe('');
});

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
}

test('the documentation lists each alert with its severity, and each has test cases', () => {
  const { groups } = parse(readFileSync(rules, 'utf8')) as { groups: { rules: Rule[] }[] };
  const alerts = groups.flatMap((group) => group.rules).map(({ alert, labels }) => [alert, labels.severity]);
  const rows = readFileSync('docs/monitoring.md', 'utf8').matchAll(/^\| `(AzpFleet\w+)` \| (\w+) \|/gm);
  expect([...rows].map(([, alert, severity]) => [alert, severity])).toEqual(alerts);
  const cases = readFileSync('test/fixtures/prometheus/rules-test.yml', 'utf8');
  for (const [alert = ''] of alerts)
    expect(cases).toMatch(new RegExp(`${alert}\\s+exp_alerts:\\s+- exp_labels`));
});
