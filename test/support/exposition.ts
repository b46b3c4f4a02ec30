// The text format of Prometheus, read strictly: https://prometheus.io/docs/instrumenting/exposition_formats/

interface Sample {
  /** With the suffix that a histogram's samples have. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

const metricName = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const pair = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`;
const helpLine = new RegExp(String.raw`^# HELP (${metricName}) ((?:[^\\]|\\[\\n])*)$`);
const typeLine = new RegExp(`^# TYPE (${metricName}) (counter|gauge|histogram)$`);
const sampleLine = new RegExp(
  String.raw`^(${metricName})(?:\{(${pair}(?:,${pair})*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$`,
);

/**
 * Returns the families in order. Refuses what a scraper may ignore: a family listed twice, samples outside their family or
 * before its HELP and TYPE, a series listed twice, a histogram whose buckets do not add up.
 */
export function readExposition(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families: (Family & { readonly samples: Sample[] })[] = [];
  const lines = text.slice(0, -1).split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (line === '') continue;
    const [, name, help = ''] = helpLine.exec(line) ?? [];
    const last = families.at(-1);
    if (name === undefined) {
      if (last === undefined) throw new Error(`no family before: ${line}`);
      last.samples.push(sampleOf(last, line));
      continue;
    }
    const [, typed, type = ''] = typeLine.exec(lines[at + 1] ?? '') ?? [];
    if (typed !== name) throw new Error(`no TYPE after: ${line}`);
    if (families.some((family) => family.name === name)) throw new Error(`family listed twice: ${name}`);
    families.push({ name, help, type, samples: [] });
    at += 1;
  }
  families.forEach(checkFamily);
  return families;
}

function sampleOf(family: Family, line: string): Sample {
  const [, name, labels = '', value] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const suffixes = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  if (!suffixes.some((suffix) => name === family.name + suffix))
    throw new Error(`a sample of another family among those of ${family.name}: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
    ([, key = '', escaped = '']) => [key, unescape(escaped)] as const,
  );
  if (new Set(pairs.map(([key]) => key)).size < pairs.length)
    throw new Error(`a label listed twice: ${line}`);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

function checkFamily({ name, type, samples }: Family): void {
  const series = samples.map((sample) => key(sample.name, sample.labels));
  const twice = series.find((each, at) => series.indexOf(each) < at);
  if (twice !== undefined) throw new Error(`series listed twice: ${twice}`);
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is a ${type}`);
  if (type === 'histogram') checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const groups = Map.groupBy(samples, ({ labels }) => key(name, { ...labels, le: '' }));
  for (const [group, members] of groups) {
    const of = (suffix: string): readonly Sample[] => members.filter((each) => each.name === name + suffix);
    const buckets = of('_bucket').map(({ labels, value }) => ({
      le: Number(labels['le']?.replace('+Inf', 'Infinity')),
      value,
    }));
    const grows = buckets.every(({ le, value }, at) => {
      const before = buckets[at - 1] ?? { le: Number.NEGATIVE_INFINITY, value: 0 };
      return le > before.le && value >= before.value;
    });
    const [count, ...more] = of('_count');
    const whole = of('_sum').length === 1 && more.length === 0 && buckets.at(-1)?.le === Infinity;
    if (!grows || !whole || buckets.at(-1)?.value !== count?.value)
      throw new Error(`the buckets of ${group} do not add up`);
  }
}

function key(name: string, labels: Readonly<Record<string, string>>): string {
  return `${name}${JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}
