import { stripVTControlCharacters } from 'node:util';

import { widthOf } from './width.ts';

/** Of a script or a file that is shown as it is. */
const exact = /^\s*│/;

/**
 * Breaks lines that are longer than a terminal at spaces, where it would break them within words; what follows is two
 * columns further in than the line. A word longer than the terminal stays whole. Colours take no columns.
 */
export function fold(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => foldLine(line, width))
    .join('\n');
}

function foldLine(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  if (widthOf(plain) <= width || exact.test(plain)) return line;
  const own = plain.length - plain.trimStart().length;
  const indent = Math.min(own + 2, Math.floor(width / 2));
  const lines: string[] = [];
  const [first = '', ...words] = line.slice(line.length - line.trimStart().length).split(' ');
  let current = ' '.repeat(own) + first;
  let taken = own + widthOf(first);
  for (const word of words) {
    const columns = widthOf(word);
    if (taken + 1 + columns <= width) {
      current += ` ${word}`;
      taken += 1 + columns;
    } else {
      lines.push(current.trimEnd());
      const before = columns > width ? indent : Math.min(indent, width - columns);
      current = ' '.repeat(before) + word;
      taken = before + columns;
    }
  }
  return [...lines, current].join('\n');
}
