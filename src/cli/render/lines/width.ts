import stringWidth from 'string-width';

/** Columns that a text takes on a terminal: ideographs and emoji two, marks on a letter none, colours none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** The text, and spaces up to so many columns. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}
