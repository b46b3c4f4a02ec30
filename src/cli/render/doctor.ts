import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { findingsOf, overall, type Overall, type RungResult } from '../../fleet/doctor/ladder.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { alike, hostLabel } from './alike.ts';
import type { Paint, Style } from './color.ts';
import { count, padded, widthOf, wrap, wrapNext } from './lines.ts';
import { forHosts } from './trouble.ts';

/** The results of one host. */
export interface HostLadder {
  readonly host: string;
  readonly rungs: readonly RungResult[];
}

interface Ladders {
  readonly machine: readonly RungResult[];
  readonly hosts: readonly HostLadder[];
  /** Of which `provision` does a next action. */
  readonly fixable: readonly HostLadder[];
}

interface Page {
  readonly width: number;
  /** Of the terminal; undefined: the output is no terminal. */
  readonly rows: number | undefined;
  readonly paint: Paint;
}

/** Hosts with equal results. */
interface Block {
  readonly hosts: readonly string[];
  readonly rungs: readonly RungResult[];
}

/** Returns the ladders: this machine first, then the hosts, the worst first and equal ones once, and last the totals. */
export function doctorText(ladders: Ladders, page: Page): string {
  const blocks = blocksOf(ladders.hosts);
  const draw = (detailed: boolean): string[] => [
    ...section('this machine', ladders.machine, page, false),
    ...blocks.flatMap(({ hosts, rungs }) => {
      const { label, names } = hostLabel(hosts);
      return ['', ...section(label, rungs, page, detailed, names)];
    }),
    '',
    ...totals(ladders, page),
  ];
  const [block] = blocks;
  const isOneHost = blocks.length === 1 && block?.hosts.length === 1;
  const detailed = isOneHost ? draw(true) : undefined;
  // The line below belongs to the shell.
  const fits = detailed !== undefined && (page.rows === undefined || detailed.length < page.rows);
  return `${(fits ? detailed : draw(false)).join('\n')}\n`;
}

const rank: Readonly<Record<Overall, number>> = { broken: 0, unknown: 1, ok: 2 };

/** Groups hosts with equal results; those that end nearest to this machine come first. */
function blocksOf(hosts: readonly HostLadder[]): readonly Block[] {
  const values = hosts.map(({ host, rungs }) => ({ host, value: rungs.map(withoutSeen) }));
  const own = new Map(hosts.map(({ host, rungs }) => [host, rungs]));
  const blocks = alike(values).map(({ hosts: names, value }): Block => {
    const [first = ''] = names;
    return {
      hosts: names,
      rungs: names.length === 1 ? (own.get(first) ?? []) : value.map((each) => named(each, names)),
    };
  });
  const end = ({ rungs }: Block): number =>
    rungs.findIndex(({ state }) => state === 'broken' || state === 'unknown');
  return blocks.toSorted(
    (one, other) => rank[overall(one.rungs)] - rank[overall(other.rungs)] || end(one) - end(other),
  );
}

/** What was seen of a rung that is ok differs from host to host. */
function withoutSeen(rung: RungResult): RungResult {
  if (rung.state !== 'ok') return rung;
  const { seen: _, ...rest } = rung;
  return rest;
}

/** Puts the names of all hosts into the command of the next action. */
function named(rung: RungResult, hosts: readonly string[]): RungResult {
  return 'next' in rung && rung.next !== undefined ? { ...rung, next: forHosts(rung.next, hosts) } : rung;
}

function section(
  title: string,
  rungs: readonly RungResult[],
  page: Page,
  detailed: boolean,
  names?: string,
): string[] {
  const { paint, width } = page;
  return [
    paint('bold', title),
    ...(names === undefined ? [] : wrap(names, width - 3, 0, 0).map((line) => `  ${paint('dim', line)}`)),
    ...runsOf(rungs, detailed).flatMap((run) => runLines(run, rungs, page, detailed)),
  ];
}

/** Consecutive rungs that share a line. */
type Run = readonly [RungResult, ...RungResult[]];

function runsOf(rungs: readonly RungResult[], detailed: boolean): readonly Run[] {
  const runs: [RungResult, ...RungResult[]][] = [];
  for (const rung of rungs) {
    const last = runs.at(-1);
    if (last !== undefined && sharesLine(last[0], rung, detailed)) last.push(rung);
    else runs.push([rung]);
  }
  return runs;
}

function sharesLine(one: RungResult, other: RungResult, detailed: boolean): boolean {
  if (findingsOf(one).length > 0 || findingsOf(other).length > 0) return false;
  if (one.state === 'ok' && other.state === 'ok')
    return !detailed || (one.seen === undefined && other.seen === undefined);
  return one.state === 'blocked' && other.state === 'blocked' && one.because === other.because;
}

const marks: Readonly<Record<RungResult['state'], readonly [Style, string]>> = {
  ok: ['green', '✔'],
  broken: ['red', '✗'],
  unknown: ['yellow', '–'],
  blocked: ['dim', '–'],
  skipped: ['dim', '–'],
};

const findingMarks: Readonly<Record<Finding['severity'], readonly [Style, string]>> = {
  info: ['dim', '·'],
  warn: ['yellow', '!'],
  fail: ['red', '✗'],
};

function runLines(run: Run, all: readonly RungResult[], page: Page, detailed: boolean): string[] {
  const [first] = run;
  const titles = run.map(({ title }) => title).join(', ');
  const text = first.state === 'ok' && !detailed ? '' : textOf(first);
  const column = detailed ? Math.max(...all.map(({ title }) => widthOf(title))) : 0;
  const isAligned = detailed && run.length === 1 && text !== '';
  const head = isAligned ? `${padded(titles, column)}  ` : text === '' ? titles : `${titles}: `;
  const indent = isAligned ? 4 + column + 2 : 6;
  const lines = entry(marks[first.state], `${head}${text}`, indent, page);
  return [
    ...lines,
    ...labelled('expected', 'expected' in first ? first.expected : undefined, page),
    ...labelled('seen', first.state === 'broken' ? first.seen : undefined, page),
    ...labelled('next', 'next' in first ? first.next : undefined, page),
    ...findingsOf(first).flatMap(({ severity, what, code, next }) => [
      ...entry(findingMarks[severity], `${what} [${code}]`, 6, page, 4),
      ...labelled('next', next, page),
    ]),
  ];
}

function textOf(rung: RungResult): string {
  if (rung.state === 'ok') return rung.seen ?? '';
  if (rung.state === 'broken') return `${rung.what} [${rung.code}]`;
  return rung.state === 'unknown' ? `unknown: ${rung.why}` : rung.why;
}

function entry(
  [style, mark]: readonly [Style, string],
  text: string,
  indent: number,
  { width, paint }: Page,
  from = 2,
): string[] {
  return wrap(text, width - 1, from + 2, indent).map((line, index) =>
    index === 0 ? `${' '.repeat(from)}${paint(style, mark)} ${line}` : line,
  );
}

function labelled(label: string, text: string | undefined, { width, paint }: Page): string[] {
  if (text === undefined || text === '') return [];
  const lines = label === 'next' ? wrapNext(text, width - 1, 14) : wrap(text, width - 1, 14, 14);
  return lines.map((line, index) => (index === 0 ? `    ${paint('dim', label.padEnd(10))}${line}` : line));
}

const words: Readonly<Record<Overall, readonly [Style, string]>> = {
  broken: ['red', 'failed'],
  unknown: ['yellow', 'unknown'],
  ok: ['green', 'ok'],
};

/** Returns `3 hosts: 1 failed, 2 ok`, and what --fix would do. */
function totals({ machine, hosts, fixable }: Ladders, { width, paint }: Page): string[] {
  const states = Map.groupBy(hosts, ({ rungs }) => overall(rungs));
  const parts = (['broken', 'unknown', 'ok'] as const).flatMap((state) => {
    const number = states.get(state)?.length ?? 0;
    const [style, word] = words[state];
    return number === 0 ? [] : [paint(style, `${number} ${word}`)];
  });
  const [style, word] = words[overall(machine)];
  const all = [`this machine: ${paint(style, word)}`, `${count(hosts.length, 'host')}: ${parts.join(', ')}`];
  const names = foldNames(fixable.map(({ host }) => host)).replaceAll(', ', ' ');
  return [
    (hosts.length === 0 ? all.slice(0, 1) : all).join('; '),
    ...(fixable.length === 0
      ? []
      : wrap(
          `azp-fleet doctor --fix ${names}: plans what provision does about it, and asks`,
          width - 1,
          0,
          2,
        )),
  ];
}
