import { stripVTControlCharacters } from 'node:util';

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
  if (plain.length <= width || exact.test(plain)) return line;
  const own = plain.length - plain.trimStart().length;
  const indent = Math.min(own + 2, Math.floor(width / 2));
  const lines: string[] = [];
  let [current = '', ...words] = line.slice(line.length - line.trimStart().length).split(' ');
  current = ' '.repeat(own) + current;
  for (const word of words) {
    const columns = stripVTControlCharacters(word).length;
    if (stripVTControlCharacters(current).length + 1 + columns <= width) current += ` ${word}`;
    else {
      lines.push(current.trimEnd());
      current = ' '.repeat(columns > width ? indent : Math.min(indent, width - columns)) + word;
    }
  }
  return [...lines, current].join('\n');
}
