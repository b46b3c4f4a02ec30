interface Style {
  readonly colour: string | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
}

const plain: Style = { colour: undefined, bold: false, dim: false };
const palette = ['#6e7681', '#ff7b72', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#e6edf3'];
const cell = { width: 8.4, height: 19 };
const margin = 16;

/** Returns the style after one SGR sequence. */
function restyle(style: Style, codes: readonly number[]): Style {
  let next = style;
  for (const code of codes.length === 0 ? [0] : codes) {
    if (code === 0) next = plain;
    else if (code === 1) next = { ...next, bold: true };
    else if (code === 2) next = { ...next, dim: true };
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 39) next = { ...next, colour: undefined };
    else if (code >= 30 && code <= 37) next = { ...next, colour: palette[code - 30] };
    else if (code >= 90 && code <= 97) next = { ...next, colour: palette[code - 90] };
  }
  return next;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function span(text: string, style: Style, column: number): string {
  if (text.trim() === '') return '';
  const attributes = [
    `x="${(margin + column * cell.width).toFixed(1)}"`,
    `textLength="${(text.length * cell.width).toFixed(1)}"`,
    ...(style.colour === undefined ? [] : [`fill="${style.colour}"`]),
    ...(style.bold ? ['font-weight="bold"'] : []),
    ...(style.dim ? ['opacity="0.6"'] : []),
  ];
  return `<tspan ${attributes.join(' ')}>${escape(text)}</tspan>`;
}

/** Returns one line as spans, and the style with which the next line begins, as on a terminal. */
function drawLine(
  line: string,
  style: Style,
): { readonly spans: string; readonly style: Style; readonly columns: number } {
  let current = style;
  let column = 0;
  let spans = '';
  for (const [index, part] of line.split(/\x1b\[([\d;]*)m/).entries()) {
    if (index % 2 === 1) current = restyle(current, part === '' ? [] : part.split(';').map(Number));
    else {
      spans += span(part, current, column);
      column += part.length;
    }
  }
  return { spans, style: current, columns: column };
}

/**
 * Returns an SVG of what a terminal shows, with SGR colours. It has its own dark background: GitHub shows it on a light and
 * on a dark page.
 */
export function picture(title: string, text: string): string {
  let style = plain;
  let columns = 80;
  const rows = text
    .trimEnd()
    .split('\n')
    .map((line, index) => {
      const drawn = drawLine(line, style);
      style = drawn.style;
      columns = Math.max(columns, drawn.columns);
      return `<text y="${(margin + 42 + index * cell.height).toFixed(1)}">${drawn.spans}</text>`;
    });
  const width = Math.ceil(2 * margin + columns * cell.width);
  const height = Math.ceil(2 * margin + 34 + rows.length * cell.height);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<text x="${width / 2}" y="24" fill="#8b949e" text-anchor="middle" font-family="sans-serif" font-size="13">${escape(title)}</text>
<g fill="#e6edf3" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" xml:space="preserve">
${rows.join('\n')}
</g>
</svg>
`;
}

/** Returns the words on each line of such an SVG; blanks between words of different styles are not kept. */
export function wordsOn(svg: string): string[] {
  return [...svg.matchAll(/^<text y="[\d.]+">(.*)<\/text>$/gm)].map(([, line = '']) =>
    line
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&')
      .replaceAll(/ +/g, ' ')
      .trim(),
  );
}
