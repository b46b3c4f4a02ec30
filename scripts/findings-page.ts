import { codeTables, findings } from '../src/shared/base/codes/tables.ts';
import { gpuRules, type Rule } from '../src/shared/health/gpu-rules.ts';

/** Returns docs/findings.md: every finding, by the tables of codes. */
export function findingsPage(): string {
  const sections = [findings, ...codeTables].flatMap(({ title, entries }) => {
    const rows = Object.entries(entries).flatMap(([code, [cause, fix, finding]]) => {
      if (finding?.title === undefined) return [];
      const { title: name, severity = 'fail', when = cause, dependsOn = [], lastsForS } = finding;
      const fails = failsAfter(code);
      const behind = dependsOn.map((other) => `\`${other}\``).join(', ');
      const lasts = lastsForS === undefined ? '' : `shown after ${lastsForS} s`;
      const notes = [sources.get(code) ?? '', behind && `hidden behind ${behind}`, lasts].filter(
        (note) => note !== '',
      );
      return [
        `| \`${code}\` | ${name} | ${when} | ${severity}${fails} | ${fix} | ${notes.join('; ')} |`.replaceAll(
          '| grep',
          String.raw`\| grep`,
        ),
      ];
    });
    return rows.length === 0 ? [] : [[`## ${title}`, '', ...tableHead, ...rows, ''].join('\n')];
  });
  return [head, ...sections].join('\n');
}

const tableHead = [
  '| code | finding | when | severity | what to do | notes |',
  '| --- | --- | --- | --- | --- | --- |',
];

const rules = new Map<string, Rule<never>>(gpuRules.map((rule) => [rule.code, rule]));
const sources = new Map([...rules].map(([code, { source = '' }]) => [code, source]));

function failsAfter(code: string): string {
  const minutes = rules.get(code)?.failsAfterMin;
  return minutes === undefined ? '' : `; fail after ${minutes} min`;
}

const head = `# Findings: every rule, its severity and what to do

\`\`\`sh
azp-fleet explain gpu.hot            # the row of a code
azp-fleet diagnose smi.xml dmesg.txt # judges saved outputs, on any machine
\`\`\`

\`info\` is only shown, \`warn\` degrades a host, \`fail\` fails it and stops the slots that it is about. A finding whose severity
depends on the case has the usual one here. A finding is hidden behind one that causes it, if that one is as severe and not about
another GPU: no screen or exit code has it, and \`status --json\` lists it under \`hidden\`; metrics have all findings.
One that often ends by itself is shown when it has lasted for the time in its row: that long its manager has seen it without a break.
What \`status\` finds itself, or \`--probe\`, is shown at once. The health gate does not wait, and a closed slot shows its reason. A missing value (\`N/A\`, not supported, deprecated) is never taken for 0.
[Health](health.md) says how findings become a verdict; XIDs are [there](health.md#xids). \`npm run docs\` writes this page from
\`src/shared/base/codes\` and \`src/shared/health/gpu-rules.ts\`, where each code is declared once.
`;
