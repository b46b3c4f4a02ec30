import { figure, type Floors, isMet, type Row, type Seen } from './floor.ts';
import { spread } from './statistics.ts';

/** What a part of the bench has measured, in bench/measured.json. */
export interface Part {
  readonly on: string;
  readonly machine: string;
  /** Names and versions of the programs beside which it was measured. */
  readonly beside?: string;
  readonly rows: Seen;
}

export type Measured = Readonly<Record<string, Part>>;

type Filled = Row & { readonly values: readonly number[] };

/** The rows that have a goal or a value, in the order of bench/floor.json, ratios first. Pure. */
function filled({ rows }: Floors, measured: Measured): readonly Filled[] {
  const values = Object.assign({}, ...Object.values(measured).map((part) => part.rows)) as Readonly<
    Record<string, readonly number[]>
  >;
  const all = Object.entries(rows)
    .map(([id, row]) => ({ ...row, values: values[id] ?? [] }))
    .filter(({ goal, values }) => goal !== undefined || values.length > 0);
  return all.toSorted((a, b) => Number(b.unit === '×') - Number(a.unit === '×'));
}

/** docs/speed.md. Pure. */
export function speedPage(floors: Floors, measured: Measured): string {
  const rows = filled(floors, measured);
  const isChartable = rows.some(isInChart);
  return [
    '# Speed: azp-fleet beside other tools',
    '    npm run bench              # writes this page and bench/RESULTS.md\n    npm run bench -- --check   # writes nothing; exits 1 where a row is worse than its floor',
    'azp-fleet and the tools that users would take otherwise run in turns, on the same hosts. The value is the median of the\nrounds. [The playbook and the commands](../bench/peers/README.md) of the other tools are in the repository;\n[all figures](../bench/RESULTS.md) are beside them.',
    ...(isChartable ? ['![Times of other tools ÷ times of azp-fleet](speed.svg)'] : []),
    [
      '| what | seen | least to most | goal | state |\n| --- | --- | --- | --- | --- |',
      ...rows.map((row) => `| ${line(row).join(' | ')} |`),
    ].join('\n'),
    ...triedParts(rows),
    conditions(measured),
  ]
    .join('\n\n')
    .concat('\n');
}

function line(row: Filled): readonly string[] {
  const { title, unit, better, goal, values } = row;
  const { median, least, most } = spread(values);
  const isSeen = values.length > 0;
  const met = isMet(row, values);
  return [
    title,
    isSeen ? figure(median, unit) : 'not measured',
    values.length > 1 ? `${figure(least, unit)} to ${figure(most, unit)}` : '',
    goal === undefined ? '' : `${better === 'more' ? '≥' : '≤'} ${figure(goal, unit)}`,
    met === undefined ? '' : met ? 'met' : 'missed',
  ];
}

function triedParts(rows: readonly Filled[]): readonly string[] {
  const missed = rows.filter((row) => isMet(row, row.values) === false);
  if (missed.length === 0) return [];
  const parts = missed.map(({ title, tried = [] }) =>
    [`- ${title}`, ...(tried.length === 0 ? ['nothing yet'] : tried).map((each) => `  - ${each}`)].join('\n'),
  );
  return ['## Missed goals, and what was tried', parts.join('\n')];
}

function conditions(measured: Measured): string {
  const lines = Object.entries(measured).map(
    ([name, { on, machine, beside = '' }]) => `| ${name} | ${on} | ${machine} | ${beside} |`,
  );
  return [
    '## Conditions',
    'The hosts of the lab are containers with systemd on the same computer, with stand-in GPUs and a practice Azure DevOps.\nThe addresses are those of one sshd on 127.0.0.0/8. Every program starts without an open connection.\npyinfra is not measured: it is not in Debian, and pip reached no index.\nThe ratios of 1,000 addresses were measured on a machine whose programs took 2 to 3 times as long as on that of the other rows. The two rows of hashed\nnames, in seconds, are of the faster machine; on the slower one they were 2.50 s and 6.06 s (bench/RESULTS.md).\nParts without a date were not measured.',
    ['| part | measured | machine | beside |\n| --- | --- | --- | --- |', ...lines].join('\n'),
  ].join('\n\n');
}

const isInChart = ({ unit, better, values }: Filled): boolean =>
  unit === '×' && better === 'more' && values.length > 0;

const bar = { height: 26, label: 430, width: 700 };

/** docs/speed.svg: how many times as fast as other tools. Pure. */
export function speedChart(floors: Floors, measured: Measured): string {
  const rows = filled(floors, measured).filter(isInChart);
  const most = Math.max(1, ...rows.map(({ values }) => spread(values).median));
  const bars = rows.flatMap((row, index) => {
    const { median } = spread(row.values);
    const length = Math.max(1, Math.round((median / most) * (bar.width - bar.label - 70)));
    const y = index * bar.height + 4;
    return [
      `<text x="${bar.label - 8}" y="${y + 14}" text-anchor="end">${escaped(row.title)}</text>`,
      `<rect x="${bar.label}" y="${y}" width="${length}" height="18" rx="2"/>`,
      `<text x="${bar.label + length + 6}" y="${y + 14}">${figure(median, row.unit)}</text>`,
    ];
  });
  const height = rows.length * bar.height + 8;
  const style =
    'text{font:12px sans-serif;fill:#333}rect{fill:#2f81f7}@media(prefers-color-scheme:dark){text{fill:#ccc}}';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${bar.width} ${height}" width="${bar.width}" height="${height}">`,
    `<style>${style}</style>`,
    ...bars,
    '</svg>\n',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
