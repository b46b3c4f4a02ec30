import { clip } from '../../shared/base/columns.ts';
import { padded } from '../render/lines.ts';
import { at, type Cell, type Column, columnWidths, fit, gap, type Page, total } from '../render/table.ts';

/** A table whose rows take one line each. */
interface Grid {
  readonly heading: string;
  /** Returns the line of a row, no wider than the page. */
  line(row: number): string;
}

/** Lays out rows for a screen that scrolls: the last column gets the space that is left, at least a third, and is cut there. */
export function gridOf(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { width, paint }: Page,
): Grid {
  const before = columns.slice(0, -1);
  const widthAt = columnWidths(before, rows);
  const levels = fit(before, rows, widthAt, width - Math.floor(width / 3));
  const widths = before.map((_, index) => widthAt(index, levels[index] ?? 0));
  const space = width - total(widths) - gap.length;
  const line = (cells: readonly Cell[]): string => {
    const shown = before.flatMap((_, index) => {
      const text = at(cells[index]?.texts ?? [''], levels[index] ?? 0);
      return widths[index] === 0
        ? []
        : [{ text: padded(text, widths[index] ?? 0), style: cells[index]?.style }];
    });
    const last = cells.at(-1);
    const rest = space < 2 ? [] : [{ text: clip(last?.texts[0] ?? '', space), style: last?.style }];
    const parts = [...shown, ...rest];
    // Narrower than the shortest texts.
    if (space < 0) return clip(parts.map(({ text }) => text).join(gap), width);
    return parts.map(({ text, style }) => (style === undefined ? text : paint(style, text))).join(gap);
  };
  return {
    heading: line(columns.map(({ heading }) => ({ texts: heading, style: 'dim' as const }))),
    line: (row) => line(rows[row] ?? []),
  };
}
