/** The cells of the tables in docs/systems.md, and how generated tables are written into pages. */

/** A lab test: the file below test/lab, and the beginning of the test's title. */
export interface InLab {
  readonly lab: readonly [file: string, title: string];
  readonly note?: string;
}

export const text = 'text only';

export function lab(file: string, title: string, note?: string): InLab {
  return { lab: [file, title], ...(note === undefined ? {} : { note }) };
}

/** `cells`: in the columns' order. */
export function matrixTable(
  names: readonly string[],
  rows: readonly { readonly what: string; readonly cells: readonly string[] }[],
): string {
  return [
    `| A host that … | ${names.join(' | ')} |`,
    `| --- |${names.map(() => ' --- |').join('')}`,
    ...rows.map(({ what, cells }) => `| ${what} | ${cells.join(' | ')} |`),
    '',
  ].join('\n');
}

export function cellOf(how: string, note: string | undefined): string {
  return note === undefined ? how : `${how}, ${note}`;
}

/** Returns the page with a table between the two markers that name its source. */
export function withTable(page: string, source: string, table: string): string {
  const start = `<!-- Written by \`npm run docs\` from ${source}; a test holds each cell to its proof. -->\n`;
  const end = '<!-- Until here. -->';
  const [from, to] = [page.indexOf(start), page.indexOf(end, page.indexOf(start))];
  if (from < 0 || to < 0) throw new Error(`the page has no markers around the table of ${source}`);
  return `${page.slice(0, from)}${start}\n${table}\n${page.slice(to)}`;
}
