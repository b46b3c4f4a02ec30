import { widthOf } from './width.ts';

interface Line {
  readonly indent: number;
  readonly text: string;
  /** Columns of the text. */
  readonly columns: number;
}

/**
 * Text in lines of at most `width` columns, broken at spaces. The first line comes behind what has `firstIndent` columns,
 * and is empty where its first word only fits below; the others begin with `indent` spaces. A word that does not fit
 * behind these gets as many as it leaves; one longer than the width stays whole, so that a command can be copied.
 */
export function wrap(text: string, width: number, firstIndent: number, indent: number): string[] {
  const lines: Line[] = [];
  for (const paragraph of text.split('\n')) {
    let line: Line = { indent: lines.length === 0 ? firstIndent : indent, text: '', columns: 0 };
    for (const word of paragraph.split(' ')) {
      const own = widthOf(word);
      const columns = line.text === '' ? own : line.columns + 1 + own;
      if (line.indent + columns <= width) {
        line = { ...line, text: line.text === '' ? word : `${line.text} ${word}`, columns };
        continue;
      }
      const fits = own <= width;
      const isBelow = line.text === '' && (lines.length > 0 || !fits);
      if (!isBelow) lines.push(line);
      line = {
        indent: isBelow && lines.length === 0 ? firstIndent : behind(indent, own, width),
        text: word,
        columns: own,
      };
    }
    lines.push(line);
  }
  return lines.map((line, at) => (at === 0 ? line.text : ' '.repeat(line.indent) + line.text));
}

/** As far in as wanted, or as a word of so many columns leaves room for; one that fits nowhere is not moved. */
function behind(indent: number, word: number, width: number): number {
  return word > width ? indent : Math.min(indent, width - word);
}
