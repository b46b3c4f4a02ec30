import type { Result, Survivor } from './run-suite.ts';

/** Of the damages that a run could show. */
const goal = 0.9;
/** Of all damages: more would be excuses. */
const mostExcused = 0.1;

export interface Report {
  /** Markdown. */
  readonly table: string;
  /** What no case saw and nobody has excused, a paragraph each. */
  readonly missing: string;
  readonly enough: boolean;
}

/** Pure. */
export function reportOf(results: readonly Result[]): Report {
  const rows = [...results, sum(results)].map((result) => {
    const { excused, caught, visible } = counts(result);
    return `| ${result.name} | ${result.total} | ${caught} | ${excused} | ${visible - caught} | ${percent(caught, visible)} | ${result.seconds} |`;
  });
  const head =
    '| scripts | damages | seen | could not be seen | missed | seen % | s |\n|---|---|---|---|---|---|---|';
  const reasons = Object.entries(Object.groupBy(excusedOf(results), ({ why }) => why ?? '')).map(
    ([why, list = []]) => `- ${why}: ${list.length}`,
  );
  const why = reasons.length === 0 ? '' : `\n\nWhat no run could show:\n\n${reasons.join('\n')}`;
  return {
    table: `${head}\n${rows.join('\n')}${why}`,
    missing: results.flatMap(missedOf).join(''),
    enough: results.every(isEnough),
  };
}

function isEnough(result: Result): boolean {
  const { excused, caught, visible } = counts(result);
  return caught >= goal * visible && excused <= mostExcused * result.total;
}

function counts({ total, survivors }: Result) {
  const excused = survivors.filter(({ why }) => why !== undefined).length;
  return { excused, caught: total - survivors.length, visible: total - excused };
}

function sum(results: readonly Result[]): Result {
  return {
    name: 'all',
    total: results.reduce((all, { total }) => all + total, 0),
    seconds: results.reduce((all, { seconds }) => all + seconds, 0),
    survivors: results.flatMap(({ survivors }) => survivors),
  };
}

function excusedOf(results: readonly Result[]): Survivor[] {
  return results.flatMap(({ survivors }) => survivors.filter(({ why }) => why !== undefined));
}

function missedOf({ name, survivors }: Result): string[] {
  return survivors
    .filter(({ why }) => why === undefined)
    .map(({ kind, before, after }) => `${name} (${kind})\n  ${before}\n  ${after || 'without it'}\n`);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : ((100 * part) / whole).toFixed(1);
}
