import type { Paint, Style } from './color.ts';
import { padded, widthOf, wrap } from './lines.ts';

/** One cell: its text, then shorter variants, each shorter than the one before. */
export interface Cell {
  readonly texts: readonly [string, ...string[]];
  readonly style?: Style;
}

export interface Column {
  /** The heading, which may be shortened as well. */
  readonly heading: readonly [string, ...string[]];
  /** Columns with the lowest number are shortened first, one step at a time. */
  readonly yields: number;
  /** Columns with the lowest number are left out first when even the shortest texts do not fit; absent: never left out. */
  readonly leaves?: number;
}

export const gap = '  ';

/** The level of a column that is left out. */
const leftOut = Number.POSITIVE_INFINITY;

export interface Page {
  readonly width: number;
  readonly paint: Paint;
}

/**
 * Returns a table no wider than `width`. All cells of a column are shortened to the same level. If the shortest texts
 * are too long, the last column wraps between words; if that is not enough, each row becomes a list.
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  page: Page,
): string[] {
  const widthAt = columnWidths(columns, rows);
  const levels = fit(columns, rows, widthAt, page.width);
  const widths = columns.map((_, index) => widthAt(index, levels[index] ?? 0));
  const headings = columns.map(({ heading }) => ({ texts: heading, style: 'dim' as const }));
  const table = [headings, ...rows].map((cells) =>
    cells.map(({ texts, style }, index) => ({
      text: widths[index] === 0 ? '' : at(texts, levels[index] ?? 0),
      ...(style === undefined ? {} : { style }),
    })),
  );
  const space = page.width - (total(widths) - (widths.at(-1) ?? 0));
  const longest = Math.max(...table.flatMap((row) => (row.at(-1)?.text ?? '').split(' ').map(widthOf)));
  if (longest > space) return table.slice(1).flatMap((row) => recordLines(table[0] ?? [], row, page));
  return table.flatMap((row) => rowLines(row, widths, page));
}

interface Shown {
  readonly text: string;
  readonly style?: Style;
}

function rowLines(row: readonly Shown[], widths: readonly number[], { width, paint }: Page): string[] {
  const before = total(widths) - (widths.at(-1) ?? 0);
  const [first = '', ...more] = wrap(row.at(-1)?.text ?? '', width, before, before);
  const line = row
    .map(({ text, style }, index) => {
      const isLast = index === row.length - 1;
      const shown = isLast ? first : text;
      const padding = isLast ? '' : ' '.repeat((widths[index] ?? 0) - widthOf(text));
      return `${style === undefined || shown === '' ? shown : paint(style, shown)}${padding}`;
    })
    .filter((_, index) => (widths[index] ?? 0) > 0)
    .join(gap)
    .trimEnd();
  return [line, ...more];
}

/** Returns a row as a list: the first cell, then the others with their headings, one a line. */
function recordLines(headings: readonly Shown[], row: readonly Shown[], { width, paint }: Page): string[] {
  const [first, ...rest] = row;
  const labels = headings.slice(1).map(({ text }) => text);
  const indent = Math.max(0, ...labels.map(widthOf)) + 2 * gap.length;
  const lines = rest.flatMap(({ text, style }, index) => {
    const label = labels[index] ?? '';
    if (label === '' || text === '') return [];
    const [beside = '', ...more] = wrap(text, width, indent, indent);
    const shown = style === undefined || beside === '' ? beside : paint(style, beside);
    return [`${gap}${paint('dim', padded(label, indent - gap.length))}${shown}`.trimEnd(), ...more];
  });
  return [first?.style === undefined ? (first?.text ?? '') : paint(first.style, first.text), ...lines];
}

/** Returns aligned columns without color; the first row holds the headings. */
export function columns(rows: readonly (readonly string[])[], width: number): string[] {
  const [headings = [], ...rest] = rows;
  return tableLines(
    headings.map((heading) => ({ heading: [heading], yields: 0 })),
    rest.map((row) => row.map((text) => ({ texts: [text] }))),
    { width, paint: (_, text) => text },
  );
}

/**
 * Returns how far each column is shortened: columns are shortened one step each in the order of `yields`, in rounds,
 * until the table fits; then columns are left out in the order of `leaves`. Space left over goes to the columns that
 * yield last.
 */
export function fit(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  widthAt: WidthAt,
  width: number,
): readonly number[] {
  const steps = columns.map(({ heading }, index) =>
    Math.max(heading.length, ...rows.map((row) => row[index]?.texts.length ?? 1)),
  );
  const order = columns
    .map((_, index) => index)
    .sort((a, b) => (columns[a]?.yields ?? 0) - (columns[b]?.yields ?? 0));
  const fits = (levels: readonly number[]): boolean =>
    total(levels.map((level, index) => widthAt(index, level))) <= width;
  let levels: readonly number[] = columns.map(() => 0);
  for (let round = 1; round < Math.max(...steps); round += 1) {
    for (const index of order) {
      if (!fits(levels)) levels = levels.with(index, Math.min(round, (steps[index] ?? 1) - 1));
    }
  }
  const leaving = columns
    .flatMap(({ leaves }, index) => (leaves === undefined ? [] : [{ leaves, index }]))
    .sort((a, b) => a.leaves - b.leaves);
  for (const { index } of leaving) {
    if (!fits(levels)) levels = levels.with(index, leftOut);
  }
  for (const index of order.toReversed()) {
    if (levels[index] === leftOut) continue;
    for (let level = 0; level < (levels[index] ?? 0); level += 1) {
      const longer = levels.with(index, level);
      if (fits(longer)) levels = longer;
    }
  }
  return levels;
}

/** Returns the width of a column's longest text at a level; 0 if the column is left out. */
type WidthAt = (index: number, level: number) => number;

/** Measures each different text of a column once, because `fit` asks many times, and a fleet has many equal cells. */
export function columnWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]): WidthAt {
  const known = columns.map(() => new Map<number, number>([[leftOut, 0]]));
  return (index, level) => {
    const found = known[index]?.get(level);
    if (found !== undefined) return found;
    const cells = [columns[index]?.heading, ...rows.map((row) => row[index]?.texts)];
    const texts = new Set(cells.map((each) => at(each ?? [''], level)));
    const width = Math.max(...[...texts].map(widthOf));
    known[index]?.set(level, width);
    return width;
  };
}

/** Returns the text for a level, or the shortest one. */
export function at(texts: readonly string[], level: number): string {
  return texts[Math.min(level, texts.length - 1)] ?? '';
}

export function total(widths: readonly number[]): number {
  const shown = widths.filter((width) => width > 0);
  return shown.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, shown.length - 1);
}
