/**
 * Matches characters that take two columns on a terminal: ideographs, full-width forms, emoji. All characters beyond the
 * basic plane count as wide: few are narrow, and terminals differ on them.
 */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{10000}-\u{10ffff}\p{Emoji_Presentation}]/u;
const narrow = /^[\x20-\x7e]*$/;

/** Returns the columns that a line of clean text takes on a terminal, at most: marks without a width count as one. */
export function columnsOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += wide.test(character) ? 2 : 1;
  return columns;
}

/** Splits a line into pieces of at most `columns` columns each; at least one piece. */
export function pieces(text: string, columns: number): string[] {
  const found: string[] = [];
  let piece = '';
  let taken = 0;
  for (const character of text) {
    const own = columnsOf(character);
    if (taken + own > columns && piece !== '') {
      found.push(piece);
      piece = '';
      taken = 0;
    }
    piece += character;
    taken += own;
  }
  return [...found, piece];
}

/** Cuts a line at `columns` columns and ends it with `…`; a shorter line is unchanged. */
export function clip(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  const [first = ''] = pieces(text, columns - 1);
  return columnsOf(first) < columns ? `${first}…` : '…';
}
