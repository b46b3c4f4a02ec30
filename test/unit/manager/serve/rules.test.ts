// The alerts, by Prometheus' own tool: scripts/dev.mjs brings it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { promtool } from '../../../support/promtool.ts';

const rules = 'docs/prometheus-rules.yml';

test.for([
  ['they are rules without faults', ['check', 'rules', '--lint-fatal', rules]],
  [
    'each fires when it should, with its words, and no sooner and no longer',
    ['test', 'rules', 'test/fixtures/prometheus/rules-test.yml'],
  ],
] as const)('%s', async ([, args], { annotate }) => {
  const seen = promtool(args);
  if (seen === undefined) await annotate('promtool is not installed: nobody looked at the alerts');
  else expect(seen.code === 0 ? '' : seen.said).toBe('');
});

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
}

test('each is in the documentation with its severity, and has cases of its own', () => {
  const { groups } = parse(readFileSync(rules, 'utf8')) as { groups: { rules: Rule[] }[] };
  const told = groups.flatMap((group) => group.rules).map(({ alert, labels }) => [alert, labels.severity]);
  const rows = readFileSync('docs/monitoring.md', 'utf8').matchAll(/^\| `(AzpFleet\w+)` \| (\w+) \|/gm);
  expect([...rows].map(([, alert, severity]) => [alert, severity])).toEqual(told);
  const cases = readFileSync('test/fixtures/prometheus/rules-test.yml', 'utf8');
  for (const [alert = ''] of told)
    expect(cases).toMatch(new RegExp(`${alert}\\s+exp_alerts:\\s+- exp_labels`));
});
