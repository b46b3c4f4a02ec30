import type { Paint, Style } from './color.ts';

/** One cell: its text, and shorter ways of saying it, each shorter than the one before. */
export interface Cell {
  readonly texts: readonly [string, ...string[]];
  readonly style?: Style;
}

export interface Column {
  /** The heading, which may be shortened as well. */
  readonly heading: readonly [string, ...string[]];
  /** When there is too little room: columns with the lowest number give way first, one step at a time. */
  readonly yields: number;
}

const gap = '  ';

/**
 * Lines of a table no wider than `width`, as long as the shortest texts allow that; what is left over is cut with `…`,
 * in the first column. All cells of a column are shortened alike, so that they can be compared.
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const levels = fit(columns, rows, width);
  const widths = columns.map((_, index) => columnWidth(columns, rows, index, levels[index] ?? 0));
  const excess = Math.max(0, total(widths) - width);
  widths[0] = Math.max(Math.min(8, widths[0] ?? 0), (widths[0] ?? 0) - excess);
  const line = (cells: readonly Cell[]): string =>
    cells
      .map(({ texts, style }, index) => {
        const text = cut(at(texts, levels[index] ?? 0), widths[index] ?? 0);
        const padding = index === cells.length - 1 ? '' : ' '.repeat((widths[index] ?? 0) - text.length);
        return `${style === undefined || text === '' ? text : paint(style, text)}${padding}`;
      })
      .join(gap)
      .trimEnd();
  const headings = columns.map(({ heading }) => ({ texts: heading, style: 'dim' as const }));
  return [headings, ...rows].map(line);
}

/** Plain aligned columns, as wide as they need; the first row holds the headings. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const [headings = [], ...rest] = rows;
  return tableLines(
    headings.map((heading) => ({ heading: [heading], yields: 0 })),
    rest.map((row) => row.map((text) => ({ texts: [text] }))),
    { width: Number.POSITIVE_INFINITY, paint: (_, text) => text },
  );
}

/**
 * How far each column is shortened: one step each in the order in which columns yield, then again, until all fits.
 * A step can give more room than was needed; what is left over goes back to the columns that yield last.
 */
function fit(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number,
): readonly number[] {
  const steps = columns.map(({ heading }, index) =>
    Math.max(heading.length, ...rows.map((row) => row[index]?.texts.length ?? 1)),
  );
  const order = columns
    .map((_, index) => index)
    .sort((a, b) => (columns[a]?.yields ?? 0) - (columns[b]?.yields ?? 0));
  const fits = (levels: readonly number[]): boolean =>
    total(levels.map((level, index) => columnWidth(columns, rows, index, level))) <= width;
  let levels: readonly number[] = columns.map(() => 0);
  for (let round = 1; round < Math.max(...steps); round += 1) {
    for (const index of order) {
      if (!fits(levels)) levels = levels.with(index, Math.min(round, (steps[index] ?? 1) - 1));
    }
  }
  for (const index of order.toReversed()) {
    for (let level = 0; level < (levels[index] ?? 0); level += 1) {
      const longer = levels.with(index, level);
      if (fits(longer)) levels = longer;
    }
  }
  return levels;
}

function columnWidth(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  index: number,
  level: number,
): number {
  const cells = rows.map((row) => at(row[index]?.texts ?? [''], level).length);
  return Math.max(at(columns[index]?.heading ?? [''], level).length, ...cells);
}

/** The text for a level; the shortest where there are fewer. */
function at(texts: readonly string[], level: number): string {
  return texts[Math.min(level, texts.length - 1)] ?? '';
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}
